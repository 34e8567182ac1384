#!/usr/bin/env bash
# The scripts of examples/ in a real Slurm: tests/slurm/run.sh BUILD_DIRECTORY. Starts munged, slurmctld and three slurmd on this machine, each a
# node of its own name with four processors that it claims to have and a GPU that is none, and compares the bytes of what the jobs make with
# those of a single process. Needs root, and the packages of scripts/install-dependencies.sh slurm; says so and passes without.
# shellcheck disable=SC2317 # functions that traps and other functions call
set -euo pipefail
cd "$(dirname "$0")/../.."
source=$PWD
rpinn=$(realpath "$1/rpinn")
for tool in munged mungekey slurmctld slurmd sbatch srun scontrol; do
  if ! command -v "$tool" > /dev/null; then
    echo "slurm: skipped, there is no $tool; scripts/install-dependencies.sh slurm installs it"
    exit 0
  fi
done
if [[ $(id -u) != 0 ]]; then
  echo "slurm: skipped, its daemons need root"
  exit 0
fi
work=$(mktemp -d)
failed=0
complain() { printf 'slurm: %s\n' "$*" >&2 && failed=1; }

# ---- the cluster ----
stop() { # PID_FILE…: the daemons that were started here, and nothing else
  local file process processes=()
  for file in "$@"; do
    if [[ -s $file ]]; then processes+=("$(< "$file")"); fi
  done
  for process in "${processes[@]}"; do kill "$process" 2> /dev/null || true; done
  for process in "${processes[@]}"; do
    for ((k = 0; k < 100; k++)); do
      if [[ ! -e /proc/$process/exe ]]; then break; fi # gone, or a zombie of whoever should wait for it
      sleep 0.1
    done
  done
}
leave() {
  if is_empty; then :; else scancel --user=root && until_true is_empty; fi || true
  stop "$work"/cluster/slurm*.pid "$work"/cluster/munged.pid
  rm -rf "$work"
}
trap leave EXIT
mkdir -p "$work"/{cluster/state,cluster/spool,bin}
cd "$work/cluster"
host=$(hostname -s) port=$((20000 + RANDOM % 10000))
cat > slurm.conf << END
ClusterName=rpinn
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
AuthType=auth/munge
CredType=cred/munge
# Jobs that go back into the queue wait until their credentials are void, two minutes unless this says otherwise.
AuthInfo=socket=$PWD/munge.socket,cred_expire=5
SlurmUser=root
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/spool/%n
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/slurmd-%n.pid
SlurmctldLogFile=$PWD/slurmctld.log
SlurmdLogFile=$PWD/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_interval=2
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=2
GresTypes=gpu
NodeName=node[1-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 3))] CPUs=4 Gres=gpu:1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo "NodeName=node[1-3] Name=gpu File=/dev/null" > gres.conf
export SLURM_CONF=$PWD/slurm.conf
mungekey --create --keyfile="$PWD/munge.key"
munged --force --key-file="$PWD/munge.key" --socket="$PWD/munge.socket" --pid-file="$PWD/munged.pid" --log-file="$PWD/munged.log" \
  --seed-file="$PWD/munge.seed" 2> /dev/null
slurmctld -f "$SLURM_CONF"
for node in node1 node2 node3; do slurmd -f "$SLURM_CONF" -N "$node"; done
# until CONDITION…: within a minute and a half
until_true() {
  local begun=$SECONDS
  until "$@"; do
    if ((SECONDS - begun > 90)); then
      complain "not within 90 s: $*"
      squeue >&2
      return 1
    fi
    sleep 0.3
  done
}
is_idle() { [[ $(sinfo -h -o %D -t idle) == 3 ]]; }
is_empty() { [[ -z $(squeue -h) ]]; }
if ! until_true is_idle; then
  tail -n 5 ./*.log >&2
  exit 1
fi

# ---- what they make ----
# rpinn as the jobs find it: it notes the GPU that Slurm has given it, and goes without.
cat > "$work/bin/rpinn" << END
#!/usr/bin/env bash
arguments=()
for argument in "\$@"; do
  if [[ \$argument == --backend=cuda ]]; then
    if [[ -n \${SLURM_JOB_ID:-} ]]; then echo "GPU \${CUDA_VISIBLE_DEVICES:-none} of \$SLURMD_NODENAME" >&2; fi
  else
    arguments+=("\$argument")
  fi
done
exec "$rpinn" "\${arguments[@]}"
END
chmod +x "$work/bin/rpinn"
export PATH=$work/bin:$PATH
cd "$work"
cat > small.yaml << 'END'
name: small
coordinates: {x: [0, 1]}
fields: {u: {network: [6]}}
truth: {u: sin(3*x)}
terms: {u: {expect: u, at: {grid: 12}, data: truth, noise: 0.1}}
predict: {grid: 9, quantities: [u]}
settings: {prior_scale: 1}
END
long=(--optimizer adam --iterations 60000 --threads 1)
same() { # ONE OTHER
  local file
  for file in run.yaml posterior.nc predictions.csv; do
    if ! cmp "$1/$file" "$2/$file"; then complain "$2/$file is not that of $1"; fi
  done
}
array() { # SAMPLES SHARDS RUN OPTION…
  sh "$source/examples/slurm-array.sh" small.yaml "$@" > page || complain "slurm-array.sh: $(< page)"
}
passed() { if ((failed == 0)); then echo "slurm: $*"; fi; }
log_has() { grep -q "$2" "$1" 2> /dev/null; }

# A job array with a GPU for each job, and its merge.
"$rpinn" run small.yaml --samples 12 --threads 4 --out single --quiet
SBATCH_GPUS=1 array 12 4 run --backend=cuda
until_true is_empty || true
same single run
for number in 1 2 3 4; do
  if ! log_has "run-logs/$number.log" "GPU 0 of node"; then complain "shard $number has no GPU: $(< "run-logs/$number.log")"; fi
done
passed "a job array of four shards on three nodes, a GPU each, is merged to the bytes of a single process"

# Shard 1 runs out of time, the node of shard 2 fails: both go back into the queue, and go on.
"$rpinn" run small.yaml --samples 90 "${long[@]}" --out steady --quiet
is_running() { [[ $(squeue -h -t R -o %i) == *"$1"* && -e $2-shards/${1#*_}/checkpoint.db ]]; }
array 90 3 steady-run "${long[@]}"
job=$(squeue -h -r -o %F -n rpinn | head -n 1)
if until_true is_running "${job}_1" steady-run; then scancel --batch --signal=USR1 "${job}_1"; fi
if until_true is_running "${job}_2" steady-run; then
  node=$(squeue -h -t R -o "%i %N" | sed -n "s/^${job}_2 //p")
  scontrol update "nodename=$node" state=down reason=test
  until_true log_has steady-run-logs/2.log "CANCELLED.*DUE TO NODE FAILURE" || true
  scontrol update "nodename=$node" state=resume 2> /dev/null || true # unless it is back by itself
fi
until_true is_empty || true
same steady steady-run
if [[ $(grep -c "no run to resume" steady-run-logs/1.log) != 1 ]]; then complain "shard 1 began more than once"; fi
if ! log_has steady-run-logs/1.log "interrupted; the members made so far are saved"; then complain "shard 1: $(< steady-run-logs/1.log)"; fi
passed "shards that run out of time or lose their node go back into the queue, and make the same bytes"

# Jobs that are cancelled are gone, and their shards go on when the script is called again.
array 90 3 cancelled "${long[@]}"
job=$(squeue -h -r -o %F -n rpinn | head -n 1)
until_true is_running "${job}_1" cancelled || true
scancel "$job"
until_true is_empty || true
if [[ -e cancelled ]]; then complain "a run is there although its jobs were cancelled"; fi
array 90 3 cancelled "${long[@]}"
until_true is_empty || true
same steady cancelled
passed "cancelled jobs stay cancelled, and the same command goes on with their shards"

# ---- ranks ----
if ! compgen -G "$(dirname "$rpinn")/librpinn-*.so" > /dev/null; then
  echo "slurm: without ranks, this build has no MPI; scripts/install-dependencies.sh mpi installs it"
  exit "$failed"
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ranks() { # NODES RUN SAMPLES OPTION…: three ranks
  local nodes=$1 run=$2 samples=$3
  shift 3
  sbatch --parsable --ntasks=3 --nodes="$nodes" --output="$run.log" "$source/examples/slurm-mpi.sh" small.yaml "$samples" "$run" "$@"
}
# by LAUNCHER TYPE NODES: the run of a single process
by() {
  if ! command -v "$1" > /dev/null; then return; fi
  RPINN_LAUNCHER=$1 SLURM_MPI_TYPE=$2 ranks "$3" "by-$1-$2" 12 > /dev/null
  until_true is_empty || true
  if [[ ! -e by-$1-$2/posterior.nc ]]; then
    complain "$1 --mpi=$2: $(< "by-$1-$2.log")"
    return
  fi
  same alone "by-$1-$2"
  if ! log_has "by-$1-$2/run.log" "the stores of 2 ranks are collected"; then complain "$1 --mpi=$2 has made no three ranks: $(< "by-$1-$2/run.log")"; fi
  passed "three ranks by $1 --mpi=$2 (nodes: $3) make the bytes of a single process"
}
"$rpinn" run small.yaml --samples 12 --threads 1 --out alone --quiet
# Slurm's plugin for PMIx, and Open MPI's daemons, have one place for each machine: nodes that share one get in each other's way.
for way in mpich:srun:pmi2:3 openmpi:srun:pmix:1 openmpi:mpirun.openmpi:none:1 mpich:mpirun.mpich:none:1; do
  IFS=: read -r kind launcher type nodes <<< "$way"
  if [[ -e $(dirname "$rpinn")/librpinn-$kind.so && $(srun --mpi=list 2>&1) == *"$type"* ]]; then by "$launcher" "$type" "$nodes"; fi
done

# Ranks that run out of time go back into the queue, and go on.
is_making() { [[ $(squeue -h -t R -o %i) == *"$1"* && -e $2/ranks ]]; }
job=$(SLURM_MPI_TYPE=pmi2 ranks 3 late 90 "${long[@]}")
if until_true is_making "$job" late; then scancel --batch --signal=USR1 "$job"; fi
until_true is_empty || true
same steady late
if ! log_has late.log "interrupted; the members made so far are saved"; then complain "ranks that are late: $(< late.log)"; fi
passed "ranks that run out of time go back into the queue, and make the same bytes"

exit "$failed"
