# Completion of rpinn for bash, made from the tables of the program by 'make docs'; a test compares it.
# shellcheck shell=bash disable=SC2207 # words of ours have no spaces

_rpinn_values() {
  local names=()
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
  case $2 in
    '') return ;;
    /) mapfile -t names < <(compgen -d -- "$current") ;;
    *) mapfile -t names < <(compgen -f -X "!$2" -- "$current" && compgen -d -- "$current") ;;
  esac
  COMPREPLY+=("${names[@]}")
  compopt -o filenames 2> /dev/null
}

_rpinn_list() {
  local before=''
  if [[ $current == *,* ]]; then before=${current%,*},; fi
  COMPREPLY+=($(compgen -P "$before" -W "$1" -- "${current##*,}"))
}

_rpinn() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  # --flag=value arrives as three words.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
    _rpinn_values "run check list summary compare predict diagnose report merge calibrate weights reproduce reference bench --help --version" ""
    return
  fi
  case $command in
    reference)
      if ((COMP_CWORD == 2)); then
        _rpinn_values "field solve --help" ""
        return
      fi
      command+=" ${COMP_WORDS[2]}"
      ;;
  esac
  case "$command $previous" in
    'run --preset')
      _rpinn_values "paper text" ""
      return
      ;;
    'run --data')
      _rpinn_values "" "*.csv"
      return
      ;;
    'run --truth')
      _rpinn_values "" "*.csv"
      return
      ;;
    'run --out')
      _rpinn_values "" "/"
      return
      ;;
    'run --shard')
      _rpinn_values "" ""
      return
      ;;
    'run --learnt')
      _rpinn_values "" "*"
      return
      ;;
    'run --set')
      _rpinn_values "" ""
      return
      ;;
    'run --method')
      _rpinn_values "map rpinn ensemble nuts svgd laplace vi" ""
      return
      ;;
    'run --samples')
      _rpinn_values "auto" ""
      return
      ;;
    'run --iterations')
      _rpinn_values "auto" ""
      return
      ;;
    'run --optimizer')
      _rpinn_values "adam lbfgs lm adagrad auto" ""
      return
      ;;
    'run --learning-rate')
      _rpinn_values "auto" ""
      return
      ;;
    'run --decay-rate')
      _rpinn_values "" ""
      return
      ;;
    'run --decay-steps')
      _rpinn_values "" ""
      return
      ;;
    'run --gradient-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'run --progress-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'run --progress-amount')
      _rpinn_values "auto" ""
      return
      ;;
    'run --progress-window')
      _rpinn_values "auto" ""
      return
      ;;
    'run --momentum')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'run --acceleration')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'run --chains')
      _rpinn_values "" ""
      return
      ;;
    'run --warmup')
      _rpinn_values "" ""
      return
      ;;
    'run --metric')
      _rpinn_values "unit diagonal dense" ""
      return
      ;;
    'run --target-acceptance')
      _rpinn_values "" ""
      return
      ;;
    'run --first-step')
      _rpinn_values "auto" ""
      return
      ;;
    'run --step-adaptation')
      _rpinn_values "" ""
      return
      ;;
    'run --max-depth')
      _rpinn_values "" ""
      return
      ;;
    'run --thin')
      _rpinn_values "" ""
      return
      ;;
    'run --keep-warmup')
      _rpinn_values "no yes" ""
      return
      ;;
    'run --repulsion')
      _rpinn_values "divided undivided" ""
      return
      ;;
    'run --kernel')
      _rpinn_values "parameters functions" ""
      return
      ;;
    'run --family')
      _rpinn_values "mean_field low_rank precision" ""
      return
      ;;
    'run --rank')
      _rpinn_values "" ""
      return
      ;;
    'run --starts')
      _rpinn_values "" ""
      return
      ;;
    'run --pairs')
      _rpinn_values "" ""
      return
      ;;
    'run --seed')
      _rpinn_values "" ""
      return
      ;;
    'run --data-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'run --noise-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'run --points-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'run --truth-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'run --likelihood')
      _rpinn_values "paper noise uniform" ""
      return
      ;;
    'run --prior-scale')
      _rpinn_values "evidence loo auto" ""
      return
      ;;
    'run --prior-shape')
      _rpinn_values "iid fan_in auto" ""
      return
      ;;
    'run --prior-per-field')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'run --prior-integrate')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'run --scale-fields')
      _rpinn_values "no yes" ""
      return
      ;;
    'run --start')
      _rpinn_values "glorot prior member map zero normal zero_then_normal auto" "/"
      return
      ;;
    'run --backend')
      _rpinn_values "cpu plain cuda auto" ""
      return
      ;;
    'run --precision')
      _rpinn_values "float double tf32 auto" ""
      return
      ;;
    'run --correct')
      _rpinn_values "none mh nuts" ""
      return
      ;;
    'run --correct-budget')
      _rpinn_values "" ""
      return
      ;;
    'run --correct-scale')
      _rpinn_values "auto" ""
      return
      ;;
    'run --time-limit')
      _rpinn_values "auto" ""
      return
      ;;
    'run --retries')
      _rpinn_values "" ""
      return
      ;;
    'run --threads')
      _rpinn_values "" ""
      return
      ;;
    'run --scratch')
      _rpinn_values "none" "/"
      return
      ;;
    'check --preset')
      _rpinn_values "paper text" ""
      return
      ;;
    'check --data')
      _rpinn_values "" "*.csv"
      return
      ;;
    'check --truth')
      _rpinn_values "" "*.csv"
      return
      ;;
    'check --out')
      _rpinn_values "" "/"
      return
      ;;
    'check --set')
      _rpinn_values "" ""
      return
      ;;
    'check --method')
      _rpinn_values "map rpinn ensemble nuts svgd laplace vi" ""
      return
      ;;
    'check --samples')
      _rpinn_values "auto" ""
      return
      ;;
    'check --iterations')
      _rpinn_values "auto" ""
      return
      ;;
    'check --optimizer')
      _rpinn_values "adam lbfgs lm adagrad auto" ""
      return
      ;;
    'check --learning-rate')
      _rpinn_values "auto" ""
      return
      ;;
    'check --decay-rate')
      _rpinn_values "" ""
      return
      ;;
    'check --decay-steps')
      _rpinn_values "" ""
      return
      ;;
    'check --gradient-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'check --progress-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'check --progress-amount')
      _rpinn_values "auto" ""
      return
      ;;
    'check --progress-window')
      _rpinn_values "auto" ""
      return
      ;;
    'check --momentum')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'check --acceleration')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'check --chains')
      _rpinn_values "" ""
      return
      ;;
    'check --warmup')
      _rpinn_values "" ""
      return
      ;;
    'check --metric')
      _rpinn_values "unit diagonal dense" ""
      return
      ;;
    'check --target-acceptance')
      _rpinn_values "" ""
      return
      ;;
    'check --first-step')
      _rpinn_values "auto" ""
      return
      ;;
    'check --step-adaptation')
      _rpinn_values "" ""
      return
      ;;
    'check --max-depth')
      _rpinn_values "" ""
      return
      ;;
    'check --thin')
      _rpinn_values "" ""
      return
      ;;
    'check --keep-warmup')
      _rpinn_values "no yes" ""
      return
      ;;
    'check --repulsion')
      _rpinn_values "divided undivided" ""
      return
      ;;
    'check --kernel')
      _rpinn_values "parameters functions" ""
      return
      ;;
    'check --family')
      _rpinn_values "mean_field low_rank precision" ""
      return
      ;;
    'check --rank')
      _rpinn_values "" ""
      return
      ;;
    'check --starts')
      _rpinn_values "" ""
      return
      ;;
    'check --pairs')
      _rpinn_values "" ""
      return
      ;;
    'check --seed')
      _rpinn_values "" ""
      return
      ;;
    'check --data-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'check --noise-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'check --points-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'check --truth-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'check --likelihood')
      _rpinn_values "paper noise uniform" ""
      return
      ;;
    'check --prior-scale')
      _rpinn_values "evidence loo auto" ""
      return
      ;;
    'check --prior-shape')
      _rpinn_values "iid fan_in auto" ""
      return
      ;;
    'check --prior-per-field')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'check --prior-integrate')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'check --scale-fields')
      _rpinn_values "no yes" ""
      return
      ;;
    'check --start')
      _rpinn_values "glorot prior member map zero normal zero_then_normal auto" "/"
      return
      ;;
    'check --backend')
      _rpinn_values "cpu plain cuda auto" ""
      return
      ;;
    'check --precision')
      _rpinn_values "float double tf32 auto" ""
      return
      ;;
    'check --correct')
      _rpinn_values "none mh nuts" ""
      return
      ;;
    'check --correct-budget')
      _rpinn_values "" ""
      return
      ;;
    'check --correct-scale')
      _rpinn_values "auto" ""
      return
      ;;
    'check --time-limit')
      _rpinn_values "auto" ""
      return
      ;;
    'check --retries')
      _rpinn_values "" ""
      return
      ;;
    'check --threads')
      _rpinn_values "" ""
      return
      ;;
    'check --scratch')
      _rpinn_values "none" "/"
      return
      ;;
    'predict --points')
      _rpinn_values "" "*.csv"
      return
      ;;
    'predict --out')
      _rpinn_values "" "*.csv"
      return
      ;;
    'predict --quantities')
      _rpinn_values "" ""
      return
      ;;
    'report --out')
      _rpinn_values "" "/"
      return
      ;;
    'merge --out')
      _rpinn_values "" "/"
      return
      ;;
    'calibrate --preset')
      _rpinn_values "paper text" ""
      return
      ;;
    'calibrate --data')
      _rpinn_values "" "*.csv"
      return
      ;;
    'calibrate --truth')
      _rpinn_values "" "*.csv"
      return
      ;;
    'calibrate --shard')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --from')
      _rpinn_values "truth prior data" ""
      return
      ;;
    'calibrate --redraw')
      _rpinn_values "noise points truth" ""
      return
      ;;
    'calibrate --methods')
      _rpinn_list "rpinn ensemble nuts svgd laplace vi"
      return
      ;;
    'calibrate --members')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --out')
      _rpinn_values "" "/"
      return
      ;;
    'calibrate --set')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --method')
      _rpinn_values "map rpinn ensemble nuts svgd laplace vi" ""
      return
      ;;
    'calibrate --samples')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --iterations')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --optimizer')
      _rpinn_values "adam lbfgs lm adagrad auto" ""
      return
      ;;
    'calibrate --learning-rate')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --decay-rate')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --decay-steps')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --gradient-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --progress-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --progress-amount')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --progress-window')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --momentum')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'calibrate --acceleration')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'calibrate --chains')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --warmup')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --metric')
      _rpinn_values "unit diagonal dense" ""
      return
      ;;
    'calibrate --target-acceptance')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --first-step')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --step-adaptation')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --max-depth')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --thin')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --keep-warmup')
      _rpinn_values "no yes" ""
      return
      ;;
    'calibrate --repulsion')
      _rpinn_values "divided undivided" ""
      return
      ;;
    'calibrate --kernel')
      _rpinn_values "parameters functions" ""
      return
      ;;
    'calibrate --family')
      _rpinn_values "mean_field low_rank precision" ""
      return
      ;;
    'calibrate --rank')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --starts')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --pairs')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --seed')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --data-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --noise-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --points-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --truth-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --likelihood')
      _rpinn_values "paper noise uniform" ""
      return
      ;;
    'calibrate --prior-scale')
      _rpinn_values "evidence loo auto" ""
      return
      ;;
    'calibrate --prior-shape')
      _rpinn_values "iid fan_in auto" ""
      return
      ;;
    'calibrate --prior-per-field')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'calibrate --prior-integrate')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'calibrate --scale-fields')
      _rpinn_values "no yes" ""
      return
      ;;
    'calibrate --start')
      _rpinn_values "glorot prior member map zero normal zero_then_normal auto" "/"
      return
      ;;
    'calibrate --backend')
      _rpinn_values "cpu plain cuda auto" ""
      return
      ;;
    'calibrate --precision')
      _rpinn_values "float double tf32 auto" ""
      return
      ;;
    'calibrate --correct')
      _rpinn_values "none mh nuts" ""
      return
      ;;
    'calibrate --correct-budget')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --correct-scale')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --time-limit')
      _rpinn_values "auto" ""
      return
      ;;
    'calibrate --retries')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --threads')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --scratch')
      _rpinn_values "none" "/"
      return
      ;;
    'calibrate --datasets')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --folds')
      _rpinn_values "" ""
      return
      ;;
    'calibrate --jobs')
      _rpinn_values "" ""
      return
      ;;
    'weights --preset')
      _rpinn_values "paper text" ""
      return
      ;;
    'weights --data')
      _rpinn_values "" "*.csv"
      return
      ;;
    'weights --truth')
      _rpinn_values "" "*.csv"
      return
      ;;
    'weights --shard')
      _rpinn_values "" ""
      return
      ;;
    'weights --rule')
      _rpinn_list "loo evidence folds mse lpp gradients annealing kernel"
      return
      ;;
    'weights --quantities')
      _rpinn_values "" ""
      return
      ;;
    'weights --members')
      _rpinn_values "" ""
      return
      ;;
    'weights --out')
      _rpinn_values "" "/"
      return
      ;;
    'weights --write')
      _rpinn_values "" "*.yaml"
      return
      ;;
    'weights --set')
      _rpinn_values "" ""
      return
      ;;
    'weights --method')
      _rpinn_values "map rpinn ensemble nuts svgd laplace vi" ""
      return
      ;;
    'weights --samples')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --iterations')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --optimizer')
      _rpinn_values "adam lbfgs lm adagrad auto" ""
      return
      ;;
    'weights --learning-rate')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --decay-rate')
      _rpinn_values "" ""
      return
      ;;
    'weights --decay-steps')
      _rpinn_values "" ""
      return
      ;;
    'weights --gradient-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --progress-tolerance')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --progress-amount')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --progress-window')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --momentum')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'weights --acceleration')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'weights --chains')
      _rpinn_values "" ""
      return
      ;;
    'weights --warmup')
      _rpinn_values "" ""
      return
      ;;
    'weights --metric')
      _rpinn_values "unit diagonal dense" ""
      return
      ;;
    'weights --target-acceptance')
      _rpinn_values "" ""
      return
      ;;
    'weights --first-step')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --step-adaptation')
      _rpinn_values "" ""
      return
      ;;
    'weights --max-depth')
      _rpinn_values "" ""
      return
      ;;
    'weights --thin')
      _rpinn_values "" ""
      return
      ;;
    'weights --keep-warmup')
      _rpinn_values "no yes" ""
      return
      ;;
    'weights --repulsion')
      _rpinn_values "divided undivided" ""
      return
      ;;
    'weights --kernel')
      _rpinn_values "parameters functions" ""
      return
      ;;
    'weights --family')
      _rpinn_values "mean_field low_rank precision" ""
      return
      ;;
    'weights --rank')
      _rpinn_values "" ""
      return
      ;;
    'weights --starts')
      _rpinn_values "" ""
      return
      ;;
    'weights --pairs')
      _rpinn_values "" ""
      return
      ;;
    'weights --seed')
      _rpinn_values "" ""
      return
      ;;
    'weights --data-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --noise-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --points-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --truth-seed')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --likelihood')
      _rpinn_values "paper noise uniform" ""
      return
      ;;
    'weights --prior-scale')
      _rpinn_values "evidence loo auto" ""
      return
      ;;
    'weights --prior-shape')
      _rpinn_values "iid fan_in auto" ""
      return
      ;;
    'weights --prior-per-field')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'weights --prior-integrate')
      _rpinn_values "no yes auto" ""
      return
      ;;
    'weights --scale-fields')
      _rpinn_values "no yes" ""
      return
      ;;
    'weights --start')
      _rpinn_values "glorot prior member map zero normal zero_then_normal auto" "/"
      return
      ;;
    'weights --backend')
      _rpinn_values "cpu plain cuda auto" ""
      return
      ;;
    'weights --precision')
      _rpinn_values "float double tf32 auto" ""
      return
      ;;
    'weights --correct')
      _rpinn_values "none mh nuts" ""
      return
      ;;
    'weights --correct-budget')
      _rpinn_values "" ""
      return
      ;;
    'weights --correct-scale')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --time-limit')
      _rpinn_values "auto" ""
      return
      ;;
    'weights --retries')
      _rpinn_values "" ""
      return
      ;;
    'weights --threads')
      _rpinn_values "" ""
      return
      ;;
    'weights --scratch')
      _rpinn_values "none" "/"
      return
      ;;
    'weights --search')
      _rpinn_values "weight prior shape epsilon noise" ""
      return
      ;;
    'weights --datasets')
      _rpinn_values "" ""
      return
      ;;
    'weights --folds')
      _rpinn_values "" ""
      return
      ;;
    'weights --jobs')
      _rpinn_values "" ""
      return
      ;;
    'reproduce --shard')
      _rpinn_values "" ""
      return
      ;;
    'reproduce --scale')
      _rpinn_values "quick medium paper" ""
      return
      ;;
    'reproduce --data-dir')
      _rpinn_values "" "/"
      return
      ;;
    'reproduce --out')
      _rpinn_values "" "/"
      return
      ;;
    'reproduce --methods')
      _rpinn_list "rpinn ensemble nuts svgd"
      return
      ;;
    'reproduce --members')
      _rpinn_values "" ""
      return
      ;;
    'reproduce --backend')
      _rpinn_values "" ""
      return
      ;;
    'reproduce --precision')
      _rpinn_values "" ""
      return
      ;;
    'reference field --cells')
      _rpinn_values "" ""
      return
      ;;
    'reference field --domain')
      _rpinn_values "" ""
      return
      ;;
    'reference field --covariance')
      _rpinn_values "squared_exponential exponential matern32 matern52" ""
      return
      ;;
    'reference field --length')
      _rpinn_values "" ""
      return
      ;;
    'reference field --mean')
      _rpinn_values "" ""
      return
      ;;
    'reference field --variance')
      _rpinn_values "" ""
      return
      ;;
    'reference field --seed')
      _rpinn_values "" ""
      return
      ;;
    'reference field --condition')
      _rpinn_values "" "*.csv"
      return
      ;;
    'reference field --coordinates')
      _rpinn_values "" ""
      return
      ;;
    'reference field --out')
      _rpinn_values "" "*"
      return
      ;;
    'reference solve --conductivity')
      _rpinn_values "" "*.csv"
      return
      ;;
    'reference solve --column')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --left')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --right')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --bottom')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --top')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --source')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --coordinates')
      _rpinn_values "" ""
      return
      ;;
    'reference solve --out')
      _rpinn_values "" "*"
      return
      ;;
    'reference solve --well')
      _rpinn_values "" ""
      return
      ;;
    'bench --backend')
      _rpinn_values "" ""
      return
      ;;
    'bench --ranks')
      _rpinn_values "" ""
      return
      ;;
    'bench --launcher')
      _rpinn_values "" ""
      return
      ;;
    'bench --out')
      _rpinn_values "" "/"
      return
      ;;
    'bench --repetitions')
      _rpinn_values "" ""
      return
      ;;
    'bench --at-least')
      _rpinn_values "" ""
      return
      ;;
    'bench --seconds')
      _rpinn_values "" ""
      return
      ;;
  esac
  case $command in
    'run')
      if [[ $current == -* ]]; then
        _rpinn_values "--preset --data --truth --out --quiet --resume --plan --shard --learnt --json --set --method --samples --iterations --optimizer --learning-rate --decay-rate --decay-steps --gradient-tolerance --progress-tolerance --progress-amount --progress-window --momentum --acceleration --chains --warmup --metric --target-acceptance --first-step --step-adaptation --max-depth --thin --keep-warmup --repulsion --kernel --family --rank --starts --pairs --seed --data-seed --noise-seed --points-seed --truth-seed --likelihood --prior-scale --prior-shape --prior-per-field --prior-integrate --scale-fields --start --backend --precision --correct --correct-budget --correct-scale --time-limit --retries --threads --scratch --help" ""
      else
        _rpinn_values "darcy darcy-geostatistics poisson-linear poisson-nonlinear" "*.yaml"
      fi
      ;;
    'check')
      if [[ $current == -* ]]; then
        _rpinn_values "--preset --data --truth --prior --out --json --set --method --samples --iterations --optimizer --learning-rate --decay-rate --decay-steps --gradient-tolerance --progress-tolerance --progress-amount --progress-window --momentum --acceleration --chains --warmup --metric --target-acceptance --first-step --step-adaptation --max-depth --thin --keep-warmup --repulsion --kernel --family --rank --starts --pairs --seed --data-seed --noise-seed --points-seed --truth-seed --likelihood --prior-scale --prior-shape --prior-per-field --prior-integrate --scale-fields --start --backend --precision --correct --correct-budget --correct-scale --time-limit --retries --threads --scratch --help" ""
      else
        _rpinn_values "darcy darcy-geostatistics poisson-linear poisson-nonlinear" "*.yaml"
      fi
      ;;
    'list')
      if [[ $current == -* ]]; then
        _rpinn_values "--json --help" ""
      else
        _rpinn_values "" ""
      fi
      ;;
    'summary')
      if [[ $current == -* ]]; then
        _rpinn_values "--json --help" ""
      else
        _rpinn_values "" "/"
      fi
      ;;
    'compare')
      if [[ $current == -* ]]; then
        _rpinn_values "--json --help" ""
      else
        _rpinn_values "" "/"
      fi
      ;;
    'predict')
      if [[ $current == -* ]]; then
        _rpinn_values "--points --out --quantities --extrapolate --help" ""
      else
        _rpinn_values "" "/"
      fi
      ;;
    'diagnose')
      if [[ $current == -* ]]; then
        _rpinn_values "--all --strict --shape --json --help" ""
      else
        _rpinn_values "" "*.csv"
      fi
      ;;
    'report')
      if [[ $current == -* ]]; then
        _rpinn_values "--out --shape --json --help" ""
      else
        _rpinn_values "" "/"
      fi
      ;;
    'merge')
      if [[ $current == -* ]]; then
        _rpinn_values "--out --partial --quiet --json --help" ""
      else
        _rpinn_values "" ""
      fi
      ;;
    'calibrate')
      if [[ $current == -* ]]; then
        _rpinn_values "--preset --data --truth --shard --from --redraw --blocks --methods --members --out --keep-runs --quiet --json --set --method --samples --iterations --optimizer --learning-rate --decay-rate --decay-steps --gradient-tolerance --progress-tolerance --progress-amount --progress-window --momentum --acceleration --chains --warmup --metric --target-acceptance --first-step --step-adaptation --max-depth --thin --keep-warmup --repulsion --kernel --family --rank --starts --pairs --seed --data-seed --noise-seed --points-seed --truth-seed --likelihood --prior-scale --prior-shape --prior-per-field --prior-integrate --scale-fields --start --backend --precision --correct --correct-budget --correct-scale --time-limit --retries --threads --scratch --datasets --folds --jobs --help" ""
      else
        _rpinn_values "darcy darcy-geostatistics poisson-linear poisson-nonlinear" "*.yaml"
      fi
      ;;
    'weights')
      if [[ $current == -* ]]; then
        _rpinn_values "--preset --data --truth --shard --rule --quantities --members --out --write --quiet --json --set --method --samples --iterations --optimizer --learning-rate --decay-rate --decay-steps --gradient-tolerance --progress-tolerance --progress-amount --progress-window --momentum --acceleration --chains --warmup --metric --target-acceptance --first-step --step-adaptation --max-depth --thin --keep-warmup --repulsion --kernel --family --rank --starts --pairs --seed --data-seed --noise-seed --points-seed --truth-seed --likelihood --prior-scale --prior-shape --prior-per-field --prior-integrate --scale-fields --start --backend --precision --correct --correct-budget --correct-scale --time-limit --retries --threads --scratch --search --datasets --folds --jobs --help" ""
      else
        _rpinn_values "darcy darcy-geostatistics poisson-linear poisson-nonlinear" "*.yaml"
      fi
      ;;
    'reproduce')
      if [[ $current == -* ]]; then
        _rpinn_values "--shard --scale --data-dir --out --methods --members --backend --precision --quiet --json --help" ""
      else
        _rpinn_values "table1 table2 table3 table4 darcy-nuts uniform-likelihood sigma-p fig-linear fig-nonlinear fig-nuts-convergence fig-nuts-plane fig-darcy-y fig-darcy-h fig-reference all" ""
      fi
      ;;
    'reference field')
      if [[ $current == -* ]]; then
        _rpinn_values "--cells --domain --covariance --length --mean --variance --seed --condition --kriging --coordinates --out --quiet --json --help" ""
      else
        _rpinn_values "" ""
      fi
      ;;
    'reference solve')
      if [[ $current == -* ]]; then
        _rpinn_values "--conductivity --column --log --left --right --bottom --top --source --coordinates --out --quiet --json --well --help" ""
      else
        _rpinn_values "" ""
      fi
      ;;
    'bench')
      if [[ $current == -* ]]; then
        _rpinn_values "--backend --scaling --ranks --launcher --out --json --repetitions --at-least --seconds --help" ""
      else
        _rpinn_values "" ""
      fi
      ;;
  esac
}

complete -F _rpinn rpinn
