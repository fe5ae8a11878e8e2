import { Command } from 'commander'
import { RunFiles } from '../catalog/benchmarks/run/run-files.ts'
import type { Answer, StateFile } from '../catalog/benchmarks/run/state-file.ts'
import { deleteRun, listRuns, type StoredRun } from '../catalog/benchmarks/store.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { type CommandResult, type CommandRunner, transactAsCommand, UsageError } from './command.ts'

interface ShowOptions {
  wrong?: boolean
}

/** The facts of a run, from its file and from its scores. */
interface RunRecord {
  run: string
  benchmark: string | null
  started_at: string
  status: 'finished' | 'interrupted'
  models: string[]
  answered: number
  correct: number
  cost: number
}

export function benchmarkRunsCommands(run: CommandRunner): Command[] {
  return [
    new Command('runs')
      .description('list the runs of benchmarks')
      .action(() => run((gateway) => showRuns(gateway))),
    new Command('show')
      .description('show the answers of a run, task by task')
      .argument('<run>', 'id of the run')
      .option('--wrong', 'only wrong answers')
      .action((id: string, options: ShowOptions) => run((gateway) => showRun(gateway, id, options))),
    new Command('delete')
      .description('delete a run: its answers, and its scores')
      .argument('<run>', 'id of the run')
      .action((id: string) => run((gateway) => removeRun(gateway, id))),
  ]
}

async function showRuns({ db, config }: Gateway): Promise<CommandResult> {
  const files = new RunFiles(config.dataDir).list()
  const inFiles = new Set(files.map(({ run }) => run.runId))
  const stored = (await listRuns(db)).filter(({ runId }) => !inFiles.has(runId))
  const runs = [
    ...files.map(({ run, isFinished }) => describeFile(run, isFinished)),
    ...stored.map(describeStored),
  ].sort((a, b) => (a.started_at < b.started_at ? 1 : -1))
  return { value: { runs }, text: runs.map(formatRun).join('\n') || 'No benchmark has been run.' }
}

function describeFile({ header, answers }: StateFile, isFinished: boolean): RunRecord {
  return {
    run: header.run_id,
    benchmark: header.benchmark ?? null,
    started_at: header.started_at,
    status: isFinished ? 'finished' : 'interrupted',
    models: header.models ?? [...new Set(answers.map(({ model }) => model))],
    answered: answers.length,
    correct: answers.filter(({ isCorrect }) => isCorrect).length,
    cost: usdFromNanos(answers.reduce((sum, { costNanos }) => sum + costNanos, 0n)),
  }
}

/** A run of another machine, or of which only the scores are left. */
function describeStored({
  runId,
  benchmark,
  measuredAt,
  models,
  tasks,
  correct,
  costNanos,
}: StoredRun): RunRecord {
  return {
    ...{ run: runId, benchmark, started_at: measuredAt, status: 'finished', models },
    ...{ answered: tasks, correct, cost: usdFromNanos(costNanos) },
  }
}

function formatRun({
  run,
  benchmark,
  started_at,
  status,
  models,
  answered,
  correct,
  cost,
}: RunRecord): string {
  return `${run}  ${started_at}  ${benchmark ?? '-'}  ${status}  ${correct} of ${answered} right, $${cost}  ${models.join(',')}`
}

async function showRun(gateway: Gateway, id: string, { wrong }: ShowOptions): Promise<CommandResult> {
  const found = new RunFiles(gateway.config.dataDir).find(id)
  if (!found) {
    const isStored = (await listRuns(gateway.db)).some(({ runId }) => runId === id)
    throw new UsageError(
      isStored
        ? `The answers of ${id} are not in this data directory; only its scores are stored.`
        : unknownRun(id),
    )
  }
  const answers = found.run.answers.filter(({ isCorrect }) => !wrong || !isCorrect)
  const value = { ...describeFile(found.run, found.isFinished), answers: answers.map(toRecord) }
  return { value, text: [formatRun(value), ...answers.map(formatAnswer)].join('\n') }
}

function toRecord({ model, task, repeat, isCorrect, costNanos, latencyMs, prompt, reply }: Answer) {
  return {
    ...{ model, task: task + 1, repeat: repeat + 1, correct: isCorrect },
    ...{ cost: usdFromNanos(costNanos), latency_ms: latencyMs },
    ...{ prompt: prompt ?? null, reply: reply ?? null },
  }
}

function formatAnswer(answer: Answer): string {
  const { model, task, isCorrect, latencyMs, prompt = '', reply = '' } = answer
  const outcome = isCorrect ? 'right' : 'WRONG'
  return `task ${task + 1}  ${model}  ${outcome}  ${latencyMs} ms  ${quote(prompt)} -> ${quote(reply)}`
}

/** Quotes a text on one line, without control characters that a terminal would obey. */
function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text)
}

async function removeRun(gateway: Gateway, id: string): Promise<CommandResult> {
  const file = new RunFiles(gateway.config.dataDir).find(id)
  const scores = await transactAsCommand(gateway, null, async (tx, record) => {
    const deleted = await deleteRun(tx, id)
    if (deleted === 0 && !file) throw new UsageError(unknownRun(id))
    record({ action: 'benchmark.delete', target: { type: 'benchmark', id }, details: { results: deleted } })
    return deleted
  })
  file?.run.delete()
  return { value: { run: id, scores }, text: `Run ${id} is deleted, with ${scores} scores.` }
}

function unknownRun(id: string): string {
  return `There is no run ${id}. List the runs with: benchmark runs`
}
