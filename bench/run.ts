// Runs one part of the benchmark; scripts/bench.mjs starts a process for each.
import { parseArgs } from 'node:util'
import { measureInference } from './inference.ts'

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
  },
})

const parts: Record<string, () => Promise<void>> = {
  inference: () =>
    measureInference({
      isQuick: values.quick,
      withProfile: values.profile,
      only: values.only.split(',').filter((name) => name !== ''),
    }),
  // Loaded on demand: it imports the whole gateway.
  storage: async () => (await import('./storage.ts')).measureStorage(),
  routing: async () => (await import('./routing.ts')).measureRouting(values.quick),
  guard: async () => (await import('./guard.ts')).measureGuard(values.quick),
  classifier: async () => (await import('./classifier.ts')).measureClassifier(values.quick),
  records: async () => (await import('./records.ts')).measureRecords(values.quick),
}

const part = parts[positionals[0] ?? '']
if (!part) {
  process.stderr.write(
    `Unknown benchmark "${positionals[0]}". Use inference, routing, guard, classifier, storage or records.\n`,
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
