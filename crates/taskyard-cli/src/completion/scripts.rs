//! The scripts that have a shell ask us.

use clap_complete::Shell;
use clap_complete::env::{Elvish, EnvCompleter as _, Powershell};

use crate::environment::TASKYARD_COMPLETE;

/// The names of the program.
const NAMES: [&str; 2] = ["taskyard", "yd"];

/// Several candidates are shown with what they are about, one alone is a bare word; a word ends where readline ends words.
const BASH: &str = r#"_taskyard() {
    local value about shown=()
    COMPREPLY=()
    while IFS=$'\t' read -r value about; do
        COMPREPLY+=("$value")
        shown+=("$value${about:+  ($about)}")
    done < <(VARIABLE=bash taskyard -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if ((${#COMPREPLY[@]} > 1)); then
        # A menu inserts what it shows.
        [[ $COMP_TYPE == 37 || $COMP_TYPE == 42 ]] || COMPREPLY=("${shown[@]}")
    elif [[ ${COMPREPLY-} == *[=/:] ]]; then
        compopt -o nospace
    fi
}
complete -o nosort -o bashdefault -o default -F _taskyard taskyard yd
"#;

const ZSH: &str = r#"#compdef taskyard yd
_taskyard() {
    local -a found
    found=("${(@f)$(VARIABLE=zsh taskyard -- "${(@Q)words[1,CURRENT]}" 2>/dev/null)}")
    if [[ -n $found ]]; then
        _describe -V 'taskyard' found
    else
        _files
    fi
}
if [[ $funcstack[1] == _taskyard ]]; then
    _taskyard "$@"
else
    compdef _taskyard taskyard yd
fi
"#;

const FISH: &str = "complete --command NAME --keep-order --exclusive --arguments \
    '(VARIABLE=fish taskyard -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))'\n";

/// Returns the script of a shell.
pub(crate) fn script(shell: Shell) -> String {
    let other = |register: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut script = Vec::new();
        // Writing to memory cannot fail.
        let _ = register(&mut script);
        String::from_utf8_lossy(&script).into_owned()
    };
    match shell {
        Shell::Bash => BASH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Zsh => ZSH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Fish => NAMES.map(|name| FISH.replace("NAME", name).replace("VARIABLE", TASKYARD_COMPLETE)).concat(),
        Shell::Elvish => other(&|script| {
            NAMES.iter().try_for_each(|name| Elvish.write_registration(TASKYARD_COMPLETE, name, name, name, script))
        }),
        _ => other(&|script| {
            NAMES.iter().try_for_each(|name| Powershell.write_registration(TASKYARD_COMPLETE, name, name, name, script))
        }),
    }
}
