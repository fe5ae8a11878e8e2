// What the gateway costs on the way of a chat request: beside a bare relay on the same runtime, a peer, and nothing.
import { cpus, release } from 'node:os'
import { resolve } from 'node:path'
import {
  type Candidate,
  type CandidateName,
  candidateNames,
  startCandidate,
  startMock,
} from './candidates.ts'
import { type Memory, measureMemory } from './memory.ts'
import { installPortkey } from './portkey.ts'
import { canMeasure, stopAll, stopWithThis } from './processes.ts'
import { report } from './report.ts'
import { type Effort, measureRounds, modelsOf, quick, scenariosFor, thorough, warmUp } from './scenarios.ts'
import { type Measured, summaryOf, targetsOf, verdict } from './summary.ts'
import { verify } from './verify.ts'

export interface Choices {
  isQuick: boolean
  withProfile: boolean
  /** Those to measure; all when empty. */
  only: string[]
}

const resultFile = 'bench/results/latest.json'

export async function measureInference(choices: Choices): Promise<void> {
  if (!canMeasure) {
    process.stdout.write('The inference benchmark reads /proc, which this system does not have: left out.\n')
    return
  }
  stopWithThis()
  const effort = choices.isQuick ? quick : thorough
  const scenarios = scenariosFor(effort)
  const names = await presentCandidates(choices.only)
  process.stdout.write(`Measuring ${names.join(', ')}: ${effort.rounds} rounds, then open streams.\n`)
  try {
    const measured = await measureAll(names, effort, choices.withProfile)
    process.stdout.write(`${report(measured, scenarios)}\n`)
    await save(measured, effort)
  } finally {
    await stopAll()
  }
}

async function presentCandidates(only: string[]): Promise<CandidateName[]> {
  const names = candidateNames.filter((name) => only.length === 0 || only.includes(name))
  if (!names.includes('portkey')) return names
  const trouble = await installPortkey()
  if (trouble === null) return names
  process.stdout.write(`Portkey could not be installed (${trouble}): measuring without it.\n`)
  return names.filter((name) => name !== 'portkey')
}

async function measureAll(names: CandidateName[], effort: Effort, withProfile: boolean): Promise<Measured> {
  const scenarios = scenariosFor(effort)
  const mock = await startMock()
  const profileDir = withProfile ? resolve('bench/results') : null
  const around = { mockPort: mock.port, models: modelsOf(scenarios), profileDir }
  const candidates: Candidate[] = []
  for (const name of names) candidates.push(await startCandidate(name, around))
  for (const candidate of candidates) {
    for (const scenario of scenarios) await verify(candidate, scenario)
    if (candidate.pid !== null) await warmUp(candidate, scenarios, effort.warmMs)
  }
  const samples = await measureRounds(candidates, scenarios, effort.rounds, progress)
  for (const candidate of candidates) await candidate.stop()
  const memory: Partial<Record<CandidateName, Memory>> = {}
  for (const name of names) {
    if (measuresMemory.has(name)) memory[name] = await measureMemory(name, around, effort)
  }
  await mock.stop()
  return { samples, memory }
}

const measuresMemory: ReadonlySet<CandidateName> = new Set(['relay', 'headgate', 'portkey'])

function progress(done: number, all: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\rblock ${done + 1} of ${all} `)
}

async function save(measured: Measured, effort: Effort): Promise<void> {
  const result = {
    at: new Date().toISOString(),
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, kernel: release(), bun: Bun.version },
    effort,
    targets: targetsOf(measured).map((target) => ({ ...target, verdict: verdict(target) })),
    summary: summaryOf(measured),
    ...measured,
  }
  await Bun.write(resultFile, `${JSON.stringify(result, null, 2)}\n`)
  process.stdout.write(`Written to ${resultFile}.\n`)
}
