// Runs one part of the benchmark; scripts/bench.mjs starts a process for each.
import { parseArgs } from 'node:util'
import { type BenchOptions, listRows, measureInference } from './inference.ts'

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    candidates: { type: 'string', multiple: true, default: [] },
    rounds: { type: 'string' },
    against: { type: 'string' },
    corpus: { type: 'string' },
    misses: { type: 'string', default: '0' },
  },
})

const maxRounds = 100
const maxMisses = 500

const parts: Record<string, () => Promise<void>> = {
  inference: async () => {
    if (values.list) process.stdout.write(listRows())
    else await measureInference(readInferenceOptions())
  },
  // Loaded on demand: it imports the whole gateway.
  storage: async () => (await import('./storage.ts')).measureStorage(),
  routing: async () => (await import('./routing.ts')).measureRouting(values.quick),
  guard: measureGuard,
  classifier: async () => (await import('./classifier.ts')).measureClassifier(values.quick),
  records: async () => (await import('./records.ts')).measureRecords(values.quick),
  bytes: async () => (await import('./record-bytes.ts')).measureRecordBytes(values.quick ? 20_000 : 200_000),
}

async function measureGuard(): Promise<void> {
  const misses = Number(values.misses)
  if (!(Number.isInteger(misses) && misses >= 0 && misses <= maxMisses))
    throw new Error(`--misses must be a number from 0 to ${maxMisses}`)
  const { corpus: folder } = values
  if (folder === undefined) await (await import('./guard.ts')).measureGuard(values.quick)
  else await (await import('./corpus-accuracy.ts')).measureLabeledTexts(folder, misses)
}

function readInferenceOptions(): BenchOptions {
  const rounds = values.rounds === undefined ? null : Number(values.rounds)
  if (rounds !== null && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= maxRounds))
    throw new Error(`--rounds must be a number from 1 to ${maxRounds}`)
  return {
    isQuick: values.quick,
    withProfile: values.profile,
    only: splitList(values.only),
    candidates: splitList(values.candidates),
    rounds,
    against: values.against ?? null,
  }
}

function splitList(texts: string[]): string[] {
  return texts.flatMap((text) => text.split(',').map((name) => name.trim())).filter((name) => name !== '')
}

const part = parts[positionals[0] ?? '']
if (!part) {
  process.stderr.write(
    `Unknown benchmark "${positionals[0]}". Use inference, routing, guard, classifier, storage, records or bytes.\n`,
  )
  process.exit(2)
}
try {
  await part()
  process.exit(0)
} catch (error) {
  process.stderr.write(`The benchmark failed: ${error instanceof Error ? error.message : error}\n`)
  process.exit(1)
}
