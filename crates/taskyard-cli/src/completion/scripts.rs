//! The scripts that have a shell ask us.

use clap_complete::Shell;
use clap_complete::env::{Elvish, EnvCompleter as _, Powershell};

use crate::environment::TASKYARD_COMPLETE;

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
complete -o nosort -o bashdefault -o default -F _taskyard taskyard
"#;

const ZSH: &str = r#"#compdef taskyard
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
    compdef _taskyard taskyard
fi
"#;

const FISH: &str = "complete --command taskyard --keep-order --exclusive --arguments \
    '(VARIABLE=fish taskyard -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))'\n";

/// Returns the script of a shell.
pub(crate) fn script(shell: Shell) -> String {
    let other = |register: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut script = Vec::new();
        // Writing to memory cannot fail.
        let _ = register(&mut script);
        String::from_utf8_lossy(&script).into_owned()
    };
    const NAME: &str = "taskyard";
    match shell {
        Shell::Bash => BASH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Zsh => ZSH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Fish => FISH.replace("VARIABLE", TASKYARD_COMPLETE),
        Shell::Elvish => other(&|script| Elvish.write_registration(TASKYARD_COMPLETE, NAME, NAME, NAME, script)),
        _ => other(&|script| Powershell.write_registration(TASKYARD_COMPLETE, NAME, NAME, NAME, script)),
    }
}
