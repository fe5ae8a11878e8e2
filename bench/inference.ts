// The cost of the gateway for requests to models, compared with a bare relay on the same runtime, peers, and no gateway.
import { existsSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { resolve } from 'node:path'
import { measureAllocations } from './allocations.ts'
import {
  type BenchEnvironment,
  type Candidate,
  type CandidateName,
  candidateNames,
  type Mock,
  startCandidate,
  startMock,
} from './candidates.ts'
import { appendSamples, combineSamples, compareCheckouts } from './comparison.ts'
import { measureRounds, type Samples, warmUp } from './measure.ts'
import { measureMemory } from './memory.ts'
import { findBifrost } from './peers/bifrost.ts'
import { findLitellm } from './peers/litellm.ts'
import { installPortkey } from './peers/portkey.ts'
import { hasProcfs, stopProcesses, stopProcessesOnExit } from './processes.ts'
import { formatReport } from './report.ts'
import { defaultCandidates, selectRows, separateRows } from './rows.ts'
import { buildScenarios, type Effort, listModels, quick, type Scenario, thorough } from './scenarios.ts'
import { type Measurements, summarize } from './summary.ts'
import { buildTargets, formatVerdict } from './targets.ts'
import { verifyCandidate } from './verify.ts'

export interface BenchOptions {
  isQuick: boolean
  withProfile: boolean
  /** The rows to measure, by id or by a part of their title; all if empty. */
  only: string[]
  /** The candidates to measure; those of the rows if empty. */
  candidates: string[]
  rounds: number | null
  /** Another checkout of Headgate to compare with. */
  against: string | null
}

interface Plan {
  scenarios: Scenario[]
  /** Ids of the rows that need processes of their own. */
  separate: string[]
  names: CandidateName[]
  effort: Effort
  environment: Omit<BenchEnvironment, 'mockPort'>
}

const resultFile = 'bench/results/latest.json'
/** Blocks of each server between two starts, when checkouts are compared. */
const blocksPerStart = 3
const comparisonRounds = 9

export function listRows(): string {
  const rows = [...buildScenarios(thorough), ...separateRows]
  return rows.map(({ id, title }) => `  ${id.padEnd(32)} ${title}\n`).join('')
}

export async function measureInference(options: BenchOptions): Promise<void> {
  if (!hasProcfs) {
    process.stdout.write('The inference benchmark needs /proc, which this system does not have: skipped.\n')
    return
  }
  stopProcessesOnExit()
  const plan = await buildPlan(options)
  const { names, effort, scenarios } = plan
  process.stdout.write(
    `Measuring ${names.join(', ')}: ${effort.rounds} rounds of ${scenarios.length} rows.\n`,
  )
  try {
    const measured = await measureAll(plan)
    process.stdout.write(`${formatReport(measured, scenarios)}\n`)
    await saveResult(measured, plan)
  } finally {
    await stopProcesses()
  }
}

async function buildPlan(options: BenchOptions): Promise<Plan> {
  const { isQuick, withProfile, only, against } = options
  if (against && !(existsSync(`${against}/src/cli.ts`) && existsSync(`${against}/node_modules`)))
    throw new Error(`${against} is not a checkout of Headgate with its dependencies installed`)
  const base = isQuick ? quick : thorough
  const effort = { ...base, rounds: options.rounds ?? (against ? comparisonRounds : base.rounds) }
  const rows = selectRows([...buildScenarios(effort), ...separateRows], only)
  const scenarios = rows.filter((row) => 'spec' in row)
  const names = selectCandidates(options)
  return {
    scenarios,
    separate: rows.filter((row) => !('spec' in row)).map(({ id }) => id),
    names: await listAvailable(names),
    effort,
    environment: {
      models: listModels(scenarios),
      profileDir: withProfile ? resolve('bench/results') : null,
      against: against && resolve(against),
    },
  }
}

function selectCandidates({ candidates, only, against }: BenchOptions): CandidateName[] {
  const unknown = candidates.find((name) => !candidateNames.some((known) => known === name))
  if (unknown) throw new Error(`No candidate is named "${unknown}". Use ${candidateNames.join(', ')}.`)
  if (candidates.includes('against') && !against) throw new Error('Name the other checkout with --against.')
  if (candidates.length > 0) return candidateNames.filter((name) => candidates.includes(name))
  return defaultCandidates(candidateNames, { isComparison: against !== null, hasSelection: only.length > 0 })
}

/** Checks of candidates that may be missing: the reason why one cannot be measured, or null. */
const findProblems: Partial<Record<CandidateName, () => Promise<string | null>>> = {
  portkey: installPortkey,
  bifrost: async () => (findBifrost() ? null : 'bifrost-http is not on the PATH'),
  litellm: async () => (findLitellm() ? null : 'litellm is not on the PATH'),
}

async function listAvailable(names: CandidateName[]): Promise<CandidateName[]> {
  const available: CandidateName[] = []
  for (const name of names) {
    const problem = (await findProblems[name]?.()) ?? null
    if (problem === null) available.push(name)
    else writeLeftOut(name, problem)
  }
  return available
}

function writeLeftOut(name: CandidateName, problem: string): void {
  process.stdout.write(`Without ${name}: ${problem}.\n`)
}

async function measureAll(plan: Plan): Promise<Measurements> {
  const mock = await startMock()
  const environment = { ...plan.environment, mockPort: mock.port }
  const samples = await (environment.against
    ? measureComparison(plan, environment, mock)
    : measureOnce(plan, environment, mock, plan.effort.rounds))
  const memory: Measurements['memory'] = {}
  const allocations: Measurements['allocations'] = {}
  for (const name of plan.names) {
    if (plan.separate.includes('open-streams') && memoryCandidates.has(name))
      memory[name] = await measureMemory(name, environment, plan.effort)
    if (!plan.separate.includes('allocations') || !allocationCandidates.has(name)) continue
    const usage = await measureAllocations(name, environment, plan.effort)
    if (usage) allocations[name] = usage
    else process.stdout.write('Too little memory is available to measure allocations.\n')
  }
  await mock.stop()
  return { samples, memory, allocations }
}

const memoryCandidates: ReadonlySet<CandidateName> = new Set(['relay', 'headgate', 'against', 'portkey'])
/** Candidates on Bun, whose garbage collection can be switched off. */
const allocationCandidates: ReadonlySet<CandidateName> = new Set(['relay', 'headgate', 'against'])
/** Candidates that need other software, and are omitted if it does not work. */
const optionalCandidates: ReadonlySet<CandidateName> = new Set(['postgres', 'portkey', 'bifrost', 'litellm'])

/** Starts the servers anew for each round: two processes of the same code differ by more than small changes do. */
async function measureComparison(plan: Plan, environment: BenchEnvironment, mock: Mock): Promise<Samples> {
  let samples: Samples = {}
  for (let round = 0; round < plan.effort.rounds; round++) {
    printProgress(`round ${round + 1} of ${plan.effort.rounds}`)
    const names = round % 2 === 0 ? plan.names : plan.names.toReversed()
    const measured = await measureOnce({ ...plan, names }, environment, mock, blocksPerStart)
    samples = appendSamples(samples, combineSamples(measured))
  }
  return samples
}

async function measureOnce(
  { names, scenarios, effort }: Plan,
  environment: BenchEnvironment,
  mock: Mock,
  rounds: number,
): Promise<Samples> {
  const candidates: Candidate[] = []
  const participants = names.filter((name) => scenarios.some((row) => row.candidates.includes(name)))
  for (const name of participants) {
    const candidate = await prepareCandidate(name, environment, scenarios, effort)
    if (candidate) candidates.push(candidate)
  }
  const all = rounds * countBlocks(candidates, scenarios)
  let done = 0
  const onBlock = () => printProgress(`block ${++done} of ${all}`)
  const samples = await measureRounds(candidates, scenarios, { rounds, mockPid: mock.pid, onBlock })
  for (const candidate of candidates) await candidate.stop()
  return samples
}

function countBlocks(candidates: Candidate[], scenarios: Scenario[]): number {
  const counts = scenarios.map((row) => candidates.filter(({ name }) => row.candidates.includes(name)).length)
  return counts.reduce((sum, count) => sum + count, 0)
}

/** A started, checked and warm candidate; null if an optional one does not work. */
async function prepareCandidate(
  name: CandidateName,
  environment: BenchEnvironment,
  scenarios: Scenario[],
  effort: Effort,
): Promise<Candidate | null> {
  printProgress(`starting ${name}`)
  let candidate: Candidate | null = null
  try {
    candidate = await startCandidate(name, environment)
    const rows = scenarios.filter((row) => row.candidates.includes(name))
    for (const row of rows) await verifyCandidate(candidate, row)
    if (candidate.pid !== null) await warmUp(candidate, rows, effort)
    return candidate
  } catch (error) {
    await candidate?.stop()
    if (!optionalCandidates.has(name)) throw error
    writeLeftOut(name, error instanceof Error ? error.message : String(error))
    return null
  }
}

function printProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(40)}`)
}

async function saveResult(measured: Measurements, { effort, environment, scenarios }: Plan): Promise<void> {
  const result = {
    at: new Date().toISOString(),
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, kernel: release(), bun: Bun.version },
    effort,
    targets: buildTargets(measured).map((target) => ({ ...target, verdict: formatVerdict(target) })),
    summary: summarize(measured.samples),
    ...(environment.against && { comparison: compareCheckouts(measured.samples, scenarios) }),
    ...measured,
  }
  await Bun.write(resultFile, `${JSON.stringify(result, null, 2)}\n`)
  process.stdout.write(`Written to ${resultFile}.\n`)
}
