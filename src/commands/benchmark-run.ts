import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { type BenchmarkResult, findKnownTaskType, type TaskType } from '../catalog/benchmarks/result.ts'
import { type CodeRunner, ContainerCodeRunner } from '../catalog/benchmarks/run/code-runner.ts'
import { GatewayClient } from '../catalog/benchmarks/run/gateway-client.ts'
import { createProgressPrinter } from '../catalog/benchmarks/run/progress.ts'
import { RunError } from '../catalog/benchmarks/run/run-error.ts'
import { RunFiles } from '../catalog/benchmarks/run/run-files.ts'
import { type RunOutcome, type RunPlan, runTasks } from '../catalog/benchmarks/run/runner.ts'
import { StateFile } from '../catalog/benchmarks/run/state-file.ts'
import { type ModelSummary, summarizeAnswers } from '../catalog/benchmarks/run/summary.ts'
import { parseTasks, type Task } from '../catalog/benchmarks/run/task.ts'
import { saveResults } from '../catalog/benchmarks/store.ts'
import { findModel } from '../catalog/lookup.ts'
import type { Model } from '../catalog/model.ts'
import { siteFilePath } from '../gateway/data-dir.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { findOperatorOrganization } from '../identity/organizations.ts'
import { findFirstWorkspaceId } from '../identity/workspaces.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newId } from '../platform/crypto/ids.ts'
import { usdFromNanos } from '../platform/money/money.ts'
import { isoNow } from '../platform/time/clock.ts'
import {
  type CommandResult,
  type CommandRunner,
  parseAmount,
  readTextFile,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface RunOptions {
  models: string[]
  key: string
  url?: string
  name?: string
  taskType?: Exclude<TaskType, 'search'>
  provider?: string
  repeats: number
  concurrency: number
  budget?: bigint
  temperature?: number
  reasoningEffort?: string
  resume?: boolean
}

const ownTaskTypes = ['coding', 'intelligence', 'agentic'] as const
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

export function benchmarkRunCommand(run: CommandRunner): Command {
  return new Command('run')
    .description('ask models the tasks of a file, through a running gateway, and store their accuracy')
    .argument('<tasks>', 'a file with a task as JSON on each line')
    .requiredOption('--models <models>', 'models, separated by commas', parseList)
    .requiredOption('--key <key>', 'inference key that pays for the requests')
    .option('--url <url>', 'address of the gateway (default: the server of this data directory)', parseOrigin)
    .option('--name <name>', 'name of the benchmark (default: that of the file)', parseBenchmarkName)
    .addOption(
      new Option(
        '--task-type <type>',
        'what it measures (default: coding if all tasks are code, else intelligence)',
      ).choices(ownTaskTypes),
    )
    .option('--provider <tag>', 'measure this endpoint of the models only')
    .option('--repeats <count>', 'how often each task is sent', parseCount(100), 1)
    .option('--concurrency <count>', 'requests at the same time', parseCount(64), 4)
    .option('--budget <usd>', 'stop before the run costs more', parseAmount)
    .option('--temperature <value>', 'sent with every request', parseTemperature)
    .addOption(new Option('--reasoning-effort <effort>', 'sent with every request').choices(efforts))
    .option('--resume', 'continue an interrupted run')
    .action((file: string, options: RunOptions) => run((gateway) => runBenchmark(gateway, file, options)))
}

async function runBenchmark(gateway: Gateway, path: string, options: RunOptions): Promise<CommandResult> {
  const text = await readTextFile(path)
  const name = options.name ?? deriveName(path)
  try {
    const tasks = parseTasks(text)
    const models = resolveModels(gateway, options)
    const codeRunner = await openCodeRunner(gateway, tasks)
    const plan = buildPlan(tasks, options)
    const files = new RunFiles(gateway.config.dataDir)
    const state = StateFile.open(files.pathOf(identifyRun(text, name, plan)), {
      isResumed: options.resume ?? false,
      header: {
        run_id: newId('run'),
        started_at: isoNow(gateway.clock),
        ...{ benchmark: name, models: options.models, tasks: tasks.length, repeats: options.repeats },
      },
    })
    const client = new GatewayClient({ url: options.url ?? findServerUrl(gateway), key: options.key })
    const onProgress = createProgressPrinter(process.stderr)
    const outcome = await runTasks(plan, { client, codeRunner, state, onProgress })
    const summaries = summarizeAnswers(outcome.answers, { ...plan, tasks: tasks.length })
    const results = summaries.map((summary) => toResult(summary, { name, tasks, models, state, options }))
    await transactAsCommand(gateway, null, async (tx, record) => {
      const importedAt = isoNow(gateway.clock)
      await saveResults(
        tx,
        results.map((result) => ({ ...result, importedAt })),
      )
      record({
        action: 'benchmark.run',
        target: { type: 'benchmark', id: name },
        details: { results: results.length },
      })
    })
    return finish({ name, outcome, summaries, plan, state, files })
  } catch (error) {
    throw error instanceof RunError ? new UsageError(error.message) : error
  } finally {
    await gateway.containers?.close()
  }
}

function buildPlan(tasks: Task[], options: RunOptions): RunPlan {
  const { models, repeats, concurrency, provider, temperature, reasoningEffort } = options
  return {
    ...{ tasks, models, repeats, concurrency, budget: options.budget ?? null },
    fields: {
      ...(provider !== undefined && { provider: { only: [provider], allow_fallbacks: false } }),
      ...(temperature !== undefined && { temperature }),
      ...(reasoningEffort !== undefined && { reasoning: { effort: reasoningEffort } }),
    },
  }
}

function resolveModels({ catalog }: Gateway, { models, provider }: RunOptions): Map<string, Model> {
  return new Map(
    models.map((slug) => {
      const model = findModel(catalog, slug)?.model
      if (!model) throw new UsageError(`${slug} is not in the catalog.`)
      if (provider !== undefined && !model.endpoints.some(({ tag }) => tag === provider))
        throw new UsageError(
          `${slug} has no endpoint ${provider}: it has ${model.endpoints.map(({ tag }) => tag).join(', ')}.`,
        )
      return [slug, model]
    }),
  )
}

async function openCodeRunner({ containers, db }: Gateway, tasks: Task[]): Promise<CodeRunner | null> {
  if (!tasks.some(({ kind }) => kind === 'code')) return null
  if (!containers)
    throw new UsageError(
      'Tasks of the kind code run in containers. Enable them with containers.engine in headgate.yaml.',
    )
  await containers.check()
  const organization = await findOperatorOrganization(db)
  if (!organization)
    throw new UsageError('There is no organization yet. Start the server once to create the first one.')
  const workspaceId = await findFirstWorkspaceId(db, organization.id)
  const runner = new ContainerCodeRunner(containers, { organizationId: organization.id, workspaceId })
  await runner.check(tasks.flatMap((task) => (task.kind === 'code' ? [task.language] : [])))
  return runner
}

/** The same for the same tasks, models and options, so that a run is found again. */
function identifyRun(text: string, name: string, { models, repeats, fields }: RunPlan): string {
  const identity = JSON.stringify([name, sha256(text), models, repeats, fields])
  return `${name}-${sha256(identity).slice(0, 16)}`
}

function findServerUrl({ config }: Gateway): string {
  const path = siteFilePath(config.dataDir)
  if (existsSync(path)) return new URL(readFileSync(path, 'utf8').trim()).origin
  throw new UsageError(
    'No server was started with this data directory. Set --url to the address of the gateway.',
  )
}

interface Finished {
  name: string
  outcome: RunOutcome
  summaries: ModelSummary[]
  plan: RunPlan
  state: StateFile
  files: RunFiles
}

/** Exit code 1 if tasks are left; what was answered is kept for --resume. */
function finish({ name, outcome, summaries, plan, state, files }: Finished): CommandResult {
  const total = plan.tasks.length * plan.models.length * plan.repeats
  const lines = summaries.map(formatSummary)
  if (outcome.answers.length < total)
    throw new UsageError([...lines, describeRest(outcome, total)].join('\n'))
  files.finish(state)
  const results = summaries.map(({ averageCostNanos, averageLatencyMs, ...summary }) => ({
    ...summary,
    average_cost: usdFromNanos(averageCostNanos),
    average_latency_ms: averageLatencyMs,
  }))
  return {
    value: { run: state.runId, benchmark: name, cost: usdFromNanos(outcome.spent), results },
    text: [...lines, `Inspect the answers with: benchmark show ${state.runId}`].join('\n'),
  }
}

function formatSummary({
  model,
  accuracy,
  deviation,
  averageCostNanos,
  averageLatencyMs,
  tasks,
}: ModelSummary) {
  const spread = deviation === null ? '' : ` ± ${(100 * deviation).toFixed(1)}`
  return `${model}  ${(100 * accuracy).toFixed(1)}${spread} % of ${tasks} tasks, $${usdFromNanos(averageCostNanos)} and ${averageLatencyMs} ms per task`
}

function describeRest({ answers, failures, stoppedBy }: RunOutcome, total: number): string {
  const counts = `${answers.length} of ${total} tasks are answered.`
  const [first] = failures
  if (stoppedBy === 'budget')
    return `Stopped before the budget was exceeded: ${counts} Continue with a higher --budget and --resume.`
  const reason = first
    ? `${failures.length} failed, the first (${first.model}, task ${first.task + 1}) with: ${first.message}`
    : ''
  return `${counts} ${reason}\nContinue with --resume.`
}

interface ResultContext {
  name: string
  tasks: Task[]
  models: ReadonlyMap<string, Model>
  state: StateFile
  options: RunOptions
}

function toResult(
  { model: slug, accuracy, deviation, averageCostNanos, averageLatencyMs, tasks: count }: ModelSummary,
  { name, tasks, models, state, options }: ResultContext,
): Omit<BenchmarkResult, 'importedAt'> {
  const model = models.get(slug)
  const defaultType = tasks.every(({ kind }) => kind === 'code') ? 'coding' : 'intelligence'
  return {
    source: 'service',
    benchmark: name,
    model: model?.canonical_slug ?? slug,
    endpoint: options.provider ?? '',
    variant: '',
    runId: state.runId,
    displayName: model?.name ?? slug,
    score: accuracy,
    deviation,
    costNanos: averageCostNanos,
    latencyMs: averageLatencyMs,
    tasks: count,
    measuredAt: state.startedAt,
    details: {
      task_type: findKnownTaskType(name) ?? options.taskType ?? defaultType,
      run_config: {
        max_agent_turns: null,
        reasoning_effort: options.reasoningEffort ?? null,
        temperature: options.temperature ?? null,
      },
    },
    sourceUrl: null,
  }
}

function parseList(text: string): string[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))].filter(Boolean)
  if (names.length > 0) return names
  throw new InvalidArgumentError('It must be a list such as acme/large,acme/small.')
}

function parseOrigin(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url.origin
  throw new InvalidArgumentError('It must be an http or https URL, such as http://127.0.0.1:8080.')
}

const nameRule =
  'It must have up to 64 lower-case letters, digits and underscores, and must not be a search benchmark.'

function parseBenchmarkName(text: string): string {
  if (isBenchmarkName(text)) return text
  throw new InvalidArgumentError(nameRule)
}

function isBenchmarkName(text: string): boolean {
  return /^[a-z][a-z0-9_]{0,63}$/.test(text) && findKnownTaskType(text) !== 'search'
}

function deriveName(path: string): string {
  const name = basename(path)
    .replace(/\.[^.]*$/, '')
    .replaceAll(/\W+/g, '_')
    .toLowerCase()
  if (isBenchmarkName(name)) return name
  throw new UsageError(`The benchmark needs a name: set --name. ${nameRule}`)
}

function parseCount(max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
    if (value >= 1 && value <= max) return value
    throw new InvalidArgumentError(`It must be an integer from 1 to ${max}.`)
  }
}

function parseTemperature(text: string): number {
  const value = /^\d(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
  if (value >= 0 && value <= 2) return value
  throw new InvalidArgumentError('It must be a number from 0 to 2.')
}
