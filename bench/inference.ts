// The cost of the gateway for a chat request, compared with a bare relay on the same runtime, a peer, and no gateway.
import { cpus, release } from 'node:os'
import { resolve } from 'node:path'
import {
  type Candidate,
  type CandidateName,
  candidateNames,
  startCandidate,
  startMock,
} from './candidates.ts'
import { type MemoryUsage, measureMemory } from './memory.ts'
import { installPortkey } from './portkey.ts'
import { hasProcfs, stopProcesses, stopProcessesOnExit } from './processes.ts'
import { formatReport } from './report.ts'
import {
  buildScenarios,
  type Effort,
  listModels,
  measureRounds,
  quick,
  thorough,
  warmUp,
} from './scenarios.ts'
import { buildTargets, formatVerdict, type Measurements, summarize } from './summary.ts'
import { verifyCandidate } from './verify.ts'

export interface BenchOptions {
  isQuick: boolean
  withProfile: boolean
  /** The candidates to measure; all if empty. */
  only: string[]
}

const resultFile = 'bench/results/latest.json'

export async function measureInference(options: BenchOptions): Promise<void> {
  if (!hasProcfs) {
    process.stdout.write('The inference benchmark needs /proc, which this system does not have: skipped.\n')
    return
  }
  stopProcessesOnExit()
  const effort = options.isQuick ? quick : thorough
  const scenarios = buildScenarios(effort)
  const names = await listAvailableCandidates(options.only)
  process.stdout.write(`Measuring ${names.join(', ')}: ${effort.rounds} rounds, then open streams.\n`)
  try {
    const measured = await measureAll(names, effort, options.withProfile)
    process.stdout.write(`${formatReport(measured, scenarios)}\n`)
    await saveResult(measured, effort)
  } finally {
    await stopProcesses()
  }
}

async function listAvailableCandidates(only: string[]): Promise<CandidateName[]> {
  const names = candidateNames.filter((name) => only.length === 0 || only.includes(name))
  if (!names.includes('portkey')) return names
  const problem = await installPortkey()
  if (problem === null) return names
  process.stdout.write(`Portkey could not be installed (${problem}): measuring without it.\n`)
  return names.filter((name) => name !== 'portkey')
}

async function measureAll(
  names: CandidateName[],
  effort: Effort,
  withProfile: boolean,
): Promise<Measurements> {
  const scenarios = buildScenarios(effort)
  const mock = await startMock()
  const profileDir = withProfile ? resolve('bench/results') : null
  const environment = { mockPort: mock.port, models: listModels(scenarios), profileDir }
  const candidates: Candidate[] = []
  for (const name of names) candidates.push(await startCandidate(name, environment))
  for (const candidate of candidates) {
    for (const scenario of scenarios) await verifyCandidate(candidate, scenario)
    if (candidate.pid !== null) await warmUp(candidate, scenarios, effort.warmMs)
  }
  const samples = await measureRounds(candidates, scenarios, effort.rounds, printProgress)
  for (const candidate of candidates) await candidate.stop()
  const memory: Partial<Record<CandidateName, MemoryUsage>> = {}
  for (const name of names) {
    if (memoryCandidates.has(name)) memory[name] = await measureMemory(name, environment, effort)
  }
  await mock.stop()
  return { samples, memory }
}

const memoryCandidates: ReadonlySet<CandidateName> = new Set(['relay', 'headgate', 'portkey'])

function printProgress(done: number, all: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\rblock ${done + 1} of ${all} `)
}

async function saveResult(measured: Measurements, effort: Effort): Promise<void> {
  const result = {
    at: new Date().toISOString(),
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, kernel: release(), bun: Bun.version },
    effort,
    targets: buildTargets(measured).map((target) => ({ ...target, verdict: formatVerdict(target) })),
    summary: summarize(measured),
    ...measured,
  }
  await Bun.write(resultFile, `${JSON.stringify(result, null, 2)}\n`)
  process.stdout.write(`Written to ${resultFile}.\n`)
}
