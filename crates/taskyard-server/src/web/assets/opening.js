// The page that a link leads to: the secret that it carries is kept, and the board is shown. Going back does not come here again.

import { base, keepSecret } from "./server.js";

keepSecret(document.querySelector('meta[name="taskyard-page"]').content);
location.replace(`${base}/`);
