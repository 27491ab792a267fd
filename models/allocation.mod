# The program of allocation.md in its direct form: jobs x stages x pools x resource dimensions, no bundles.
# The labels R1 to R16 and the names of the tiers are those of allocation.md.
#
# Not here, because it changes neither a tier nor a choice: the spare (second exception of R14), evenness and the order by id.
# Protected jobs that wait although they fit (last clause of R13) are excluded by the tier protected_lost as long as they are worth something.
#
# The strict order is solved tier by tier: with tier = i the i-th objective is optimised, and best[1..i-1] carry the optima before it.

# Sets -------------------------------------------------------------------------------------------------------------------------

set J;                                             # jobs
set S;                                             # stages, each of one job
set R;                                             # resources
set K;                                             # pools
set Q;                                             # queues
set COMPRESSIBLE within R;
set EXCLUSIVE within K, default {};                # pools with exclusive cards (R9)
set ALLOWED within S cross K;                       # pools a stage may sit in (R4)

# Data; every amount is a whole number of quanta ---------------------------------------------------------------------------------

param card, default 0;                             # the resource of the cards, and of their memory; 0 where the state has none
param memory, default 0;
param C{K, R}, >= 0, default 0;                    # capacity
param card_mem{EXCLUSIVE}, >= 0;                   # quanta of memory per quantum of cards

param job{S} in J;                                 # the job of a stage
param lo{S, R}, >= 0, default 0;                   # min and max quota when the job runs
param hi{S, R}, >= 0, default Infinity;
param u{S, R}, > 0, default 1;                     # unit
param d{S, R}, >= 0, default 0;                    # demand per period at full service, of compressible resources
param n{S, R}, >= 0, default 0;                    # need, of incompressible resources
param v{ALLOWED}, > 0;                             # speed
param at{S}, default 0;                            # the pool in which a stage holds something now; 0: it holds nothing
param cur{S, R}, >= 0, default 0;                  # what it holds now

param points{S}, >= 0;                             # the service S(level) of R6 is linear between points 0..points[s]
param level{s in S, 0..points[s]}, >= 0;           # (0, 0), then (0, S(0)) where S(0) > 0, then on to (top, S(top)); an idle stage has only level 0
param service{s in S, 0..points[s]}, >= 0;

param entries{S}, integer, >= 0, default 0;        # of the stage's profile (R15); 0: it has none
param listed{S, R}, binary, default 0;             # whether the profile lists the resource
param entry_pool{s in S, 1..entries[s]} in K;
param entry_amount{s in S, 1..entries[s], R}, >= 0, default 0;
param share{s in S, 1..entries[s]}, >= 0;          # rate over full rate

param queue{J}, default 0;                         # 0: outside every queue
param a{J}, >= 0;                                  # worth of one fully served period
param protected{J}, binary, default 0;
param evict{J}, >= 0, default 0;                   # charges of R11, ms
param migrate{J}, >= 0, default 0;
param resize{J, R}, >= 0, default 0;

param parent{Q}, default 0;                        # the queue above; 0: none
param nominal{Q, R}, >= 0, default 0;              # queue quotas, each of a queue and all below it together
param ceiling{Q, R}, >= 0, default Infinity;
param reserved{Q, R}, >= 0, default 0;
param ask{S, R}, >= 0, default 0;                  # what a stage would hold at level 1 within its quotas

param price{K, R}, >= 0, default 0;                # what a quantum costs for one hour
param M, >= 0, default Infinity;                   # cost ceiling
param B, >= 0, default Infinity;                   # preemption budget, ms
param P, > 0;                                      # period, s
param H, > 0;                                      # hold_periods

param tier in 1..4, default 1;                     # the objective that is optimised
param best{1..3};                                  # optima of the tiers before it
param slack, >= 0, default 1e-6;                   # by how much, of max(1, best), a solver in floats may miss an earlier optimum
param strict, > 0, default 0.005;                   # ">" in R14 is ">= strict +": below the distance of two ticks, above the tolerance of GLPK\'s presolver (1e-3)

# What follows from the data -----------------------------------------------------------------------------------------------------

set HOLDING := setof{s in S: at[s] > 0} s;
set STAYING := setof{s in HOLDING, k in K: k = at[s] and (s, k) in ALLOWED} s;   # stages that may stay where they are
set RUNNING := setof{s in HOLDING} job[s];                                       # jobs that run now
set CARDS := {r in R: r = card and memory in R};                                 # empty where R9 says nothing

param floor_units{s in S, r in R} := ceil(max(lo[s, r], n[s, r]) / u[s, r]);
param top{s in S} := level[s, points[s]];
# No allocation of R14 has more units than these: neither a least one, nor one that is kept.
param plain_reach{s in S, r in R} := max(
  floor_units[s, r], ceil(cur[s, r] / u[s, r]), max{e in 0..entries[s]} (if e > 0 then ceil(entry_amount[s, e, r] / u[s, r]) else 0),
  max{k in {0} union K} (if (s, k) in ALLOWED then ceil(d[s, r] * top[s] / (v[s, k] * u[s, r]) + 0.001) else 0));
param reach{s in S, r in R} := if r in CARDS then max(plain_reach[s, r], max{k in {0} union K} (if k in EXCLUSIVE and (s, k) in ALLOWED then
    (if card_mem[k] > 0 then ceil(plain_reach[s, memory] * u[s, memory] / (card_mem[k] * u[s, r]) + 0.001) else 0) else 0))
  else plain_reach[s, r];
param total{r in R} := sum{k in K} C[k, r];
param at_rest{q in Q, r in R} := max(reserved[q, r], sum{c in Q: parent[c] = q} at_rest[c, r]);   # what a queue books while nothing runs
param all_reserved{r in R} := sum{q in Q: parent[q] = 0} at_rest[q, r];
param cut_reserved{q in Q, r in R} := if all_reserved[r] <= total[r] then reserved[q, r] else (reserved[q, r] * total[r]) div all_reserved[r];

# What a queue asks for with all below it, each of those no more than it may use (1), and what stays reserved below it all the same (2).
param claim{i in 1..2, q in Q, r in R} := if i = 1
  then sum{s in S: queue[job[s]] = q} ask[s, r] + sum{c in Q: parent[c] = q} min(claim[1, c, r], ceiling[c, r] - claim[2, c, r])
  else sum{c in Q: parent[c] = q} max(claim[2, c, r], cut_reserved[c, r] - min(claim[1, c, r], ceiling[c, r] - claim[2, c, r]));

# Decisions ----------------------------------------------------------------------------------------------------------------------

var run{J}, binary;                                # the job runs
var y{J}, >= 0, <= 1;                              # its service
var z{ALLOWED}, binary;                            # the stage sits in the pool
var x{ALLOWED, R}, integer, >= 0;                  # what it holds there, in units (R8): u * x quanta
var l{S}, >= 0;                                    # pace level
var part{s in S, 0..points[s]}, >= 0;              # where y lies between the points of the service
var between{s in S, 1..points[s]}, binary;

var keep{s in STAYING, r in R: resize[job[s], r] > 0}, binary;      # R14: exactly what it has
var changed{s in STAYING, r in R: resize[job[s], r] > 0}, binary;   # R11
var charge{HOLDING}, >= 0;                                          # ms for moving a stage that stays with its job
var ms{J}, >= 0;                                                    # charges of the job

var by_floor{S, R}, binary;                        # R14: which of the floors of a least allocation is the tight one
var by_pace{s in S, r in R: d[s, r] > 0}, binary;
var by_memory{S, CARDS}, binary;

var pick{s in S, 1..entries[s]}, binary;           # R15: the entry that is held

var got{Q, R}, >= 0;                               # what the stages of the queue and of all below it hold
var used{Q, R}, >= 0;                              # what the queue's own stages hold and the queues right below it book
var booked{Q, R}, >= 0;                            # the same, at least what is reserved
var short{Q, R}, >= 0;

var protected_lost, >= 0;
var over_budget_seconds, >= 0;
var guarantee_shortfall, >= 0;
var value;

# Rules --------------------------------------------------------------------------------------------------------------------------

s.t. R1_capacity{k in K, r in R}: sum{(s, k) in ALLOWED} u[s, r] * x[s, k, r] <= C[k, r];

# R2 with R4: all stages of a job that runs sit in exactly one pool each; a job that waits has none and so holds nothing.
s.t. R2_min{(s, k) in ALLOWED, r in R: lo[s, r] > 0}: u[s, r] * x[s, k, r] >= lo[s, r] * z[s, k];
s.t. R2_nothing{(s, k) in ALLOWED, r in R}: x[s, k, r] <= reach[s, r] * z[s, k];
s.t. R3_max{(s, k) in ALLOWED, r in R: hi[s, r] < Infinity}: u[s, r] * x[s, k, r] <= hi[s, r] * z[s, k];
s.t. R4_one_pool{s in S}: sum{(s, k) in ALLOWED} z[s, k] = run[job[s]];

# R5 and R7: every stage's level is at least the pace level of the job's service; so the slowest stage sets it.
s.t. R5_level{s in S, r in R: d[s, r] > 0}: sum{(s, k) in ALLOWED} v[s, k] * u[s, r] * x[s, k, r] >= d[s, r] * l[s];
s.t. R5_need{(s, k) in ALLOWED, r in R: n[s, r] > 0}: u[s, r] * x[s, k, r] >= n[s, r] * z[s, k];

# R6: the pace level is exactly the least level with S(level) >= y, so y and l lie together on one piece of the curve.
s.t. R6_service{s in S}: sum{p in 0..points[s]} service[s, p] * part[s, p] = y[job[s]];
s.t. R6_level{s in S}: sum{p in 0..points[s]} level[s, p] * part[s, p] = l[s];
s.t. R6_whole{s in S}: sum{p in 0..points[s]} part[s, p] = run[job[s]];
s.t. R6_one_piece{s in S: points[s] > 0}: sum{p in 1..points[s]} between[s, p] = run[job[s]];
s.t. R6_ends{s in S, p in 0..points[s]: points[s] > 0}:
  part[s, p] <= sum{i in p..p+1: i >= 1 and i <= points[s]} between[s, i];

# R7: one y for all stages of the job, above.
# R8: whole units, by the meaning of x.

s.t. R9_card_memory{(s, k) in ALLOWED, r in CARDS: k in EXCLUSIVE}: u[s, memory] * x[s, k, memory] <= card_mem[k] * u[s, r] * x[s, k, r];

s.t. R10_got{q in Q, r in R}: got[q, r] = sum{(s, k) in ALLOWED: queue[job[s]] = q} u[s, r] * x[s, k, r] + sum{c in Q: parent[c] = q} got[c, r];
s.t. R10_used{q in Q, r in R}:
  used[q, r] = sum{(s, k) in ALLOWED: queue[job[s]] = q} u[s, r] * x[s, k, r] + sum{c in Q: parent[c] = q} booked[c, r];
s.t. R10_ceiling{q in Q, r in R: ceiling[q, r] < Infinity}: used[q, r] <= ceiling[q, r];
s.t. R10_booked{q in Q, r in R}: booked[q, r] >= used[q, r];
s.t. R10_reserved{q in Q, r in R}: booked[q, r] >= cut_reserved[q, r];
s.t. R10_lending{r in R: all_reserved[r] > 0}:
  sum{q in Q: parent[q] = 0} booked[q, r] + sum{(s, k) in ALLOWED: queue[job[s]] = 0} u[s, r] * x[s, k, r] <= total[r];

s.t. R11_more{s in STAYING, r in R, k in K: resize[job[s], r] > 0 and k = at[s]}:
  u[s, r] * x[s, k, r] - cur[s, r] * z[s, k] <= u[s, r] * reach[s, r] * changed[s, r];
s.t. R11_less{s in STAYING, r in R, k in K: resize[job[s], r] > 0 and k = at[s]}:
  cur[s, r] * z[s, k] - u[s, r] * x[s, k, r] <= cur[s, r] * changed[s, r];
s.t. R11_resize{s in STAYING, r in R: resize[job[s], r] > 0}: charge[s] >= resize[job[s], r] * changed[s, r];
s.t. R11_migrate{s in HOLDING}: charge[s] >= migrate[job[s]] * (run[job[s]] - sum{k in K: k = at[s] and (s, k) in ALLOWED} z[s, k]);
s.t. R11_charges{j in J}: ms[j] = sum{s in HOLDING: job[s] = j} charge[s] + (if j in RUNNING then evict[j] * (1 - run[j]) else 0);

# R12: the charges stay inside the budget as far as protected jobs allow; the tier over_budget_seconds measures the excess.
s.t. R12_budget{i in 1..1: B < Infinity}: sum{j in J} ms[j] / 1000 <= B / 1000 + over_budget_seconds;

# R13: protected jobs keep running; the tier protected_lost, first of all, measures those that do not.
s.t. R13_protected: protected_lost = sum{j in J: protected[j] = 1} a[j] * (1 - run[j]);

# R14: a stage that runs holds of every resource what it keeps, or a least allocation: the rounding up of a floor that is tight.
s.t. R14_least{s in S, r in R: listed[s, r] = 0}:
  by_floor[s, r] + (if d[s, r] > 0 then by_pace[s, r] else 0) + (if r in CARDS then by_memory[s, r] else 0)
  + (if s in STAYING and resize[job[s], r] > 0 then keep[s, r] else 0) >= run[job[s]];
s.t. R14_floor{s in S, r in R}:
  sum{(s, k) in ALLOWED} x[s, k, r] <= floor_units[s, r] + (reach[s, r] - floor_units[s, r]) * (1 - by_floor[s, r]);
s.t. R14_pace{s in S, r in R: d[s, r] > 0}:
  sum{(s, k) in ALLOWED} v[s, k] * u[s, r] * (x[s, k, r] - z[s, k]) + strict
  <= d[s, r] * l[s] + (max{k in {0} union K} (if (s, k) in ALLOWED then v[s, k] * u[s, r] * reach[s, r] else 0) + strict) * (1 - by_pace[s, r]);
s.t. R14_memory{s in S, r in CARDS}:
  sum{(s, k) in ALLOWED: k in EXCLUSIVE} (card_mem[k] * u[s, r] * (x[s, k, r] - z[s, k]) - u[s, memory] * x[s, k, memory]) + strict
  <= (max{k in {0} union K} (if k in EXCLUSIVE then card_mem[k] * u[s, r] * reach[s, r] else 0) + strict) * (1 - by_memory[s, r]);
s.t. R14_memory_exclusive{s in S, r in CARDS}: by_memory[s, r] <= sum{(s, k) in ALLOWED: k in EXCLUSIVE} z[s, k];
# Keep: in its pool, exactly what it has of every resource whose charge is above a threshold.
s.t. R14_keep_here{s in STAYING, r in R, k in K: resize[job[s], r] > 0 and k = at[s]}: keep[s, r] <= z[s, k];
s.t. R14_keep_exactly{s in STAYING, r in R: resize[job[s], r] > 0}: keep[s, r] + changed[s, r] <= 1;
s.t. R14_keep_dearer{s in STAYING, r in R, i in R: resize[job[s], r] > 0 and i <> r and resize[job[s], i] >= resize[job[s], r]}: keep[s, r] <= keep[s, i];

# R15: a stage with a profile holds one entry exactly, in the pool it was measured in, and is served as that entry says.
s.t. R15_entry{(s, k) in ALLOWED: entries[s] > 0}: sum{e in 1..entries[s]: entry_pool[s, e] = k} pick[s, e] = z[s, k];
s.t. R15_exactly{(s, k) in ALLOWED, r in R: listed[s, r] = 1}:
  u[s, r] * x[s, k, r] = sum{e in 1..entries[s]: entry_pool[s, e] = k} entry_amount[s, e, r] * pick[s, e];
s.t. R15_service{s in S: entries[s] > 0}: y[job[s]] <= sum{e in 1..entries[s]} share[s, e] * pick[s, e];

# R16: all that is allocated costs at most the ceiling.
s.t. R16_cost{i in 1..1: M < Infinity}: sum{(s, k) in ALLOWED, r in R} price[k, r] * u[s, r] * x[s, k, r] <= M;

# Objective, in strict order -----------------------------------------------------------------------------------------------------

# Tier 1, protected_lost: R13 above. Tier 2, over_budget_seconds: R12 above.
# Tier 3:
s.t. short_of_guarantee{q in Q, r in R: nominal[q, r] > 0}:
  short[q, r] >= min(nominal[q, r] - claim[2, q, r], claim[1, q, r]) - got[q, r];
s.t. tier_3_guarantee_shortfall: guarantee_shortfall = sum{q in Q, r in R: nominal[q, r] > 0} short[q, r] / nominal[q, r];
# Tier 4:
s.t. tier_4_value: value = sum{j in J} a[j] * (y[j] - ms[j] / (1000 * P * H));

s.t. best_1{i in 1..1: tier > 1}: protected_lost <= best[1] + slack * max(1, best[1]);
s.t. best_2{i in 2..2: tier > 2}: over_budget_seconds <= best[2] + slack * max(1, best[2]);
s.t. best_3{i in 3..3: tier > 3}: guarantee_shortfall <= best[3] + slack * max(1, best[3]);

minimize objective:
  if tier = 1 then protected_lost else if tier = 2 then over_budget_seconds else if tier = 3 then guarantee_shortfall else -value;

end;
