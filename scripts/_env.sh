# shellcheck shell=bash
# shellcheck disable=SC2030,SC2031  # the set-up lives in a subshell, and so do the variables its functions share
# The checkout's own Python environment, .venv: made when it is absent, brought up to date when pyproject.toml
# changed, rebuilt when it is broken or was moved. Written for bash 3.2, the one macOS has.
#
# A script that runs under `set -euo pipefail` sources this file and then calls, as a plain command,
#   require_environment base    what MewCode needs to run, or
#   require_environment dev     the same with the tools for tests and checks.
# It returns with $VENV/bin/python ready and the working folder unchanged, or ends the script with status 1 and
# one line on standard error. $CHECKOUT and $VENV are absolute paths.
#
# Where nothing has to be done it starts no process: the shell itself compares a stamp kept in .venv.

# The floor that requires-python sets in pyproject.toml.
LEAST_PYTHON_MINOR=11
# A first set-up over a slow line takes minutes. A second start waits for it this long, in seconds.
INSTALL_LOCK_LIMIT=600

CHECKOUT=$(CDPATH='' cd -P -- "${BASH_SOURCE[0]%/*}/.." && pwd -P)
VENV=$CHECKOUT/.venv

require_environment() {
  if ! environment_is_current "$1"; then
    set_up_environment "$1"
  fi
}

# ---- the stamp

environment_is_current() { # base|dev
  [[ -x $VENV/bin/python && -f $VENV/bin/mewcode ]] || return 1
  read_text "$CHECKOUT/pyproject.toml"
  compose_stamp "$REPLY"
  stamp_matches dev || { [[ $1 == base ]] && stamp_matches base; }
}

# All that an installation depends on: where it is (it holds absolute paths), the Python that made it
# (pyvenv.cfg names the version), and what was asked for. Sets STAMP.
compose_stamp() { # text of pyproject.toml
  read_text "$VENV/pyvenv.cfg"
  STAMP=$CHECKOUT$'\n'$REPLY$'\n'$1
}

stamp_matches() { # base|dev
  local stamp=$VENV/$1.stamp
  # An interpreter newer than the stamp was replaced since, and has to prove again that it runs.
  [[ -f $stamp && ! $VENV/bin/python -nt $stamp ]] || return 1
  read_text "$stamp"
  [[ $REPLY == "$STAMP" ]]
}

# Renamed into place once it is whole. The environment was just proved, so an interpreter dated in the future
# must not make the stamp look old for ever.
write_stamp() { # base|dev, text of pyproject.toml
  compose_stamp "$2"
  printf '%s' "$STAMP" >"$VENV/stamp.new"
  if [[ $VENV/bin/python -nt $VENV/stamp.new ]]; then
    touch -r "$VENV/bin/python" "$VENV/stamp.new"
  fi
  mv -f "$VENV/stamp.new" "$VENV/$1.stamp"
}

# The whole of a small file, without a process; nothing where there is no such file. Sets REPLY.
read_text() {
  REPLY=''
  if [[ -r $1 ]]; then
    IFS= read -r -d '' REPLY <"$1" || :
  fi
}

# ---- the set-up

# A subshell: its folder, traps, lock and variables end with it. Standard input belongs to the program that is
# started afterwards, and PYTHONPATH would make packages elsewhere look as if they were installed here.
set_up_environment() ( # base|dev
  exec </dev/null
  unset PYTHONPATH PYTHONHOME
  export PIP_USER=0
  if [[ ${MEWCODE_PYTHON:-} == */* && $MEWCODE_PYTHON != /* ]]; then
    MEWCODE_PYTHON=$PWD/$MEWCODE_PYTHON
  fi
  cd "$CHECKOUT" || exit
  python=''
  progress=''

  # Asked before anything is written, so that a machine without a fitting Python is left as it was.
  venv_is_usable || find_python
  if ! mkdir -p "$VENV" 2>/dev/null || [[ ! -w $VENV ]]; then
    fail "cannot write to $VENV; check its permissions, then run again."
  fi
  trap 'fail "the set-up of .venv was interrupted; run again to finish it." 130' INT
  trap release_install_lock EXIT
  acquire_install_lock
  if environment_is_current "$1"; then
    clear_progress
    exit 0 # another start did the work while this one waited
  fi

  if venv_is_usable; then
    show_progress 'bringing .venv up to date...'
  else
    show_progress 'setting up .venv (once, about half a minute)...'
    empty_venv
  fi
  rm -f "$VENV/base.stamp" "$VENV/dev.stamp"
  : >"$VENV/install.log"
  project=.
  if [[ $1 == dev ]]; then
    project='.[dev]'
  fi
  read_text pyproject.toml
  asked_for=$REPLY
  install_with_uv || install_with_pip || fail_installing
  write_stamp "$1" "$asked_for"
  finish_progress
)

install_with_uv() {
  command -v uv >/dev/null || return 1
  venv_is_usable || { require_python && logged uv venv --allow-existing --python "$python" "$VENV"; } &&
    logged uv pip install --python "$VENV/bin/python" -e "$project"
}

# Also where uv failed: pip may know of a mirror or a proxy that uv was never told of. An environment made by uv
# has no pip, and is made anew.
install_with_pip() {
  if ! { venv_is_usable && "$VENV/bin/python" -c 'import pip' 2>/dev/null; }; then
    require_python
    empty_venv
    logged "$python" -m venv "$VENV" || return 1
  fi
  logged "$VENV/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off -e "$project"
}

logged() {
  printf '$ %s\n' "$*" >>"$VENV/install.log"
  "$@" >>"$VENV/install.log" 2>&1
}

# The log and the lock outlive the environment they are about.
empty_venv() {
  local entry
  for entry in "$VENV"/* "$VENV"/.[!.]*; do
    case ${entry##*/} in
      install.log | install.lock | install.owner) ;;
      *) rm -rf "$entry" ;;
    esac
  done
}

# ---- the interpreter

# An environment made by hand is taken as it is, as long as its Python runs and is new enough.
venv_is_usable() {
  local stamp
  [[ -x $VENV/bin/python && -f $VENV/pyvenv.cfg ]] || return 1
  for stamp in "$VENV/base.stamp" "$VENV/dev.stamp"; do
    read_text "$stamp"
    [[ -z $REPLY || ${REPLY%%$'\n'*} == "$CHECKOUT" ]] || return 1 # moved
  done
  python_version "$VENV/bin/python" && version_suffices "$REPLY"
}

require_python() {
  [[ -n $python ]] || find_python
}

# Sets $python, or ends the script. MEWCODE_PYTHON is an order: it is not passed over for another.
find_python() {
  local candidate found='' advice='Install one or set MEWCODE_PYTHON.'
  for candidate in ${MEWCODE_PYTHON:+"$MEWCODE_PYTHON"} python3.13 python3.12 python3.11 python3 python uv; do
    if [[ $candidate == uv ]]; then
      # A Python that uv installed is often on no PATH.
      candidate=$(uv python find --system ">=3.$LEAST_PYTHON_MINOR" 2>/dev/null) || continue
    fi
    if python_version "$candidate"; then
      if version_suffices "$REPLY"; then
        python=$candidate
        return
      fi
      found=${found:-$REPLY ($candidate)}
    fi
    if [[ $candidate == "${MEWCODE_PYTHON:-}" ]]; then
      found=${found:-"none that runs as MEWCODE_PYTHON ($candidate)"}
      advice='Set MEWCODE_PYTHON to such a Python or unset it.'
      break
    fi
  done
  fail "needs Python 3.$LEAST_PYTHON_MINOR or newer; found ${found:-none}. $advice"
}

# Sets REPLY to a version such as 3.11.7. Only running it tells: a stub or a shim may stand where a Python should.
python_version() {
  REPLY=$("$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) || return 1
  [[ $REPLY =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
}

version_suffices() {
  local major=${1%%.*} minor=${1#*.}
  minor=${minor%%.*}
  ((major > 3 || (major == 3 && minor >= LEAST_PYTHON_MINOR)))
}

# ---- the lock: one set-up at a time

acquire_install_lock() {
  local deadline=$((SECONDS + INSTALL_LOCK_LIMIT))
  if command -v flock >/dev/null; then
    exec 9>>"$VENV/install.lock" # closed, and so released, when the set-up and all it started have ended
  fi
  until try_install_lock; do
    if ((SECONDS >= deadline)); then
      fail "another set-up of .venv is still at work after $((INSTALL_LOCK_LIMIT / 60)) minutes; end it, then run again."
    fi
    show_progress 'waiting for another set-up of .venv...'
    sleep 0.1
  done
}

try_install_lock() {
  local owner
  if command -v flock >/dev/null; then
    flock -n 9
    return
  fi
  # Without flock: a symbolic link is made in one step together with its text, the owner's process id.
  if [[ -z ${lock_id:-} ]]; then
    lock_id=$(exec sh -c 'echo "$PPID"') # this subshell; bash 3.2 has no BASHPID
  fi
  if ln -s "$lock_id" "$VENV/install.owner" 2>/dev/null; then
    return 0
  fi
  owner=$(readlink "$VENV/install.owner" 2>/dev/null) || return 1
  if ! is_running "$owner"; then
    # Its owner was killed. The next try takes the lock, or finds that somebody else did.
    mv -f "$VENV/install.owner" "$VENV/install.owner.$lock_id" 2>/dev/null && rm -f "$VENV/install.owner.$lock_id"
  fi
  return 1
}

is_running() { # process id
  kill -0 "$1" 2>/dev/null || return 1
  read_text "/proc/$1/stat"
  [[ $REPLY != *') Z '* ]] # in a container whose first process reaps nobody, the dead keep their id
}

release_install_lock() {
  if [[ -n ${lock_id:-} && $(readlink "$VENV/install.owner" 2>/dev/null) == "$lock_id" ]]; then
    rm -f "$VENV/install.owner"
  fi
}

# ---- what the user sees: one line in all, whether it went well or not

# On a terminal the line is shown at once and an error takes its place. Elsewhere nobody watches, and a line
# that was written cannot be taken back, so it is written at the end.
show_progress() {
  if [[ $progress == "$1" ]]; then
    return
  fi
  clear_progress
  progress=$1
  if on_terminal; then
    printf 'mewcode: %s' "$progress" >&2
  fi
}

clear_progress() {
  if [[ -n $progress ]] && on_terminal; then
    printf '\r\033[K' >&2
  fi
  progress=''
}

finish_progress() {
  if on_terminal; then
    printf ' done\n' >&2
  else
    printf 'mewcode: %s done\n' "$progress" >&2
  fi
}

on_terminal() {
  [[ -t 2 && ${TERM:-dumb} != dumb ]]
}

fail() { # message, status (1)
  clear_progress
  printf 'mewcode: %s\n' "$1" >&2
  exit "${2:-1}"
}

fail_installing() {
  local reason log="Full log: $VENV/install.log"
  reason=$(failure_reason <"$VENV/install.log")
  case $reason in
    *ensurepip* | *'No module named venv'*)
      fail "this Python cannot make a virtual environment ($python); install its venv package (apt install python3-venv on Debian and Ubuntu) or uv, then run again. $log"
      ;;
    *'No space left'* | *'ermission denied'* | *'ead-only file system'* | *'uota exceeded'*)
      fail "cannot write packages ($reason); check the disk and its permissions, then run again. $log"
      ;;
    [A-Za-z]*Error:\ *)
      fail "cannot build MewCode from this checkout ($reason); mend it, then run again. $log"
      ;;
    *)
      fail "cannot fetch packages ($reason); check the network, proxy or package index, then run again. $log"
      ;;
  esac
}

# Reads the log and prints why its last command failed: the system's own words where it has them, else the last
# line that is neither decoration nor a hint. Addresses are left out, they may name a private index.
failure_reason() {
  local line cause='' last=''
  while read -r line; do
    case $line in
      '$ '* | *Downloading* | *'(from versions: '[0-9]*) cause='' ;; # what went wrong before was got over
      *CERTIFICATE_VERIFY_FAILED*) cause='certificate verify failed' ;;
      *'Tunnel connection failed: '*) cause="proxy: ${line##*Tunnel connection failed: }" ;;
      *'[Errno '*) cause=${line##*\[Errno } && cause=${cause#*] } ;;
      *'timed out'*) cause='timed out' ;;
      *ensurepip*) cause='no ensurepip' ;;
    esac
    case $line in
      '' | '$ '* | WARNING:* | DEPRECATION:* | '['* | ×* | │* | ╰* | note:* | hint:* | *-with-error | *-failed | \
        *'See above'* | 'Encountered error'*) ;;
      *) last=$line ;;
    esac
  done
  case $last in
    ERROR:* | error:* | cause:* | 'Caused by:'*) last=${last#*: } ;;
  esac
  # A cause ends where the Python repr around it does.
  cause=${cause%%[\'\"()]*}
  last=$(without_addresses "${cause:-$last}")
  last=${last:0:160}
  printf '%s' "${last:-no reason given}"
}

without_addresses() { # text
  local word kept='' host='^[^A-Za-z0-9]*([A-Za-z0-9-]+\.)+([A-Za-z]{2,}|[0-9]+)(:[0-9]+)?[^A-Za-z0-9]*$'
  set -f
  for word in $1; do
    case $word in
      *://* | *host=*) continue ;;
      *.toml* | *.py* | *.md* | *.txt* | *.whl* | *.gz*) ;; # a file's name looks like a host's
      *) [[ ! $word =~ $host ]] || continue ;;
    esac
    kept="$kept $word"
  done
  printf '%s' "${kept# }"
}
