import { Command, InvalidArgumentError, Option } from 'commander'
import { buildResults } from '../catalog/benchmarks/import/build-results.ts'
import { ImportError } from '../catalog/benchmarks/import/entry.ts'
import { ModelMatcher } from '../catalog/benchmarks/import/match-model.ts'
import { readBenchmarkFile } from '../catalog/benchmarks/import/read-file.ts'
import { type BenchmarkSource, benchmarkSources } from '../catalog/benchmarks/result.ts'
import { saveResults } from '../catalog/benchmarks/store.ts'
import { findModel } from '../catalog/lookup.ts'
import type { Model } from '../catalog/model.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isoNow } from '../platform/time/clock.ts'
import { benchmarkRunCommand } from './benchmark-run.ts'
import { benchmarkRunsCommands } from './benchmark-runs.ts'
import {
  type CommandResult,
  type CommandRunner,
  readTextFile,
  transactAsCommand,
  UsageError,
} from './command.ts'

interface ImportOptions {
  source: BenchmarkSource
  date?: string
  sourceUrl?: string
  arena?: string
  category?: string
  match: [name: string, model: string][]
}

export function benchmarkCommand(run: CommandRunner): Command {
  const benchmark = new Command('benchmark').description('import and run benchmarks of models')
  benchmark
    .command('import')
    .description('store the scores of a file that a source of benchmarks publishes')
    .argument('<file>', 'JSON, or CSV of Design Arena')
    .addOption(
      new Option('--source <source>', 'what the file contains')
        .choices(benchmarkSources)
        .makeOptionMandatory(),
    )
    .option(
      '--date <date>',
      'when the scores were measured, if the file does not say (default: now)',
      parseDate,
    )
    .option('--source-url <url>', 'where the file was published', parseUrl)
    .option('--arena <arena>', 'arena of a Design Arena leaderboard that does not name it')
    .option('--category <category>', 'category of a Design Arena leaderboard that does not name it')
    .option('--match <name=model>', 'the model that a name in the file means; repeatable', collectMatch, [])
    .action((file: string, options: ImportOptions) => run((gateway) => runImport(gateway, file, options)))
  benchmark.addCommand(benchmarkRunCommand(run))
  for (const command of benchmarkRunsCommands(run)) benchmark.addCommand(command)
  return benchmark
}

async function runImport(gateway: Gateway, path: string, options: ImportOptions): Promise<CommandResult> {
  const now = isoNow(gateway.clock)
  const matcher = new ModelMatcher(gateway.catalog, resolveMatches(gateway, options.match))
  const scores = readScores(await readTextFile(path), options)
  const { results, unmatched, superseded } = buildResults(scores, matcher, {
    date: options.date ?? now,
    sourceUrl: options.sourceUrl ?? null,
    importedAt: now,
  })
  const saved = await transactAsCommand(gateway, null, async (tx, record) => {
    const summary = await saveResults(tx, results)
    const target = { type: 'benchmark', id: options.source }
    record({ action: 'benchmark.import', target, details: { ...summary } })
    return summary
  })
  const models = new Set(results.map(({ model }) => model)).size
  const value = { source: options.source, models, ...saved, superseded, unmatched }
  const counts = `${saved.added} added, ${saved.updated} updated, ${saved.unchanged} unchanged, ${saved.outdated} older than what is stored`
  const lines = [
    `${results.length} scores of ${models} ${models === 1 ? 'model' : 'models'}: ${counts}.`,
    ...(superseded.length > 0 ? [`Other settings of the same models: ${superseded.join(', ')}.`] : []),
    ...(unmatched.length > 0 ? [`Not in the catalog (use --match): ${unmatched.join(', ')}.`] : []),
  ]
  return { value, text: lines.join('\n') }
}

function readScores(text: string, { source, arena, category }: ImportOptions) {
  try {
    return readBenchmarkFile(text, source, { ...(arena && { arena }), ...(category && { category }) })
  } catch (error) {
    throw error instanceof ImportError ? new UsageError(error.message) : error
  }
}

function resolveMatches({ catalog }: Gateway, matches: ImportOptions['match']): Map<string, Model> {
  return new Map(
    matches.map(([name, slug]) => {
      const model = findModel(catalog, slug)?.model
      if (!model) throw new UsageError(`--match: ${slug} is not in the catalog.`)
      return [name, model]
    }),
  )
}

function collectMatch(text: string, previous: ImportOptions['match']): ImportOptions['match'] {
  const at = text.lastIndexOf('=')
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('It must be a name and a model, such as "Large (high)=acme/large".')
  return [...previous, [text.slice(0, at), text.slice(at + 1)]]
}

function parseDate(text: string): string {
  const time = /^\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time))
    throw new InvalidArgumentError(
      'It must be a date or a UTC time, such as 2026-11-01 or 2026-11-01T12:00:00Z.',
    )
  return new Date(time).toISOString()
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:')
    throw new InvalidArgumentError('It must be an http or https URL.')
  return url.href
}
