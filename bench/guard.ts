// The accuracy of the content filters on the held-out half of their corpus, and their CPU time.
import { type Accuracy, measureAccuracy } from '../src/governance/filters/corpus/accuracy.ts'
import { type Passage, readCorpus } from '../src/governance/filters/corpus/corpus.ts'
import { type DetectorSlug, detectorSlugs, detectors } from '../src/governance/filters/detectors.ts'
import { FilterSet } from '../src/governance/filters/filter-set.ts'
import type { BuiltinRule, CustomRule } from '../src/governance/filters/rules.ts'
import { measureMillis } from './cpu-time.ts'

const place = { part: 'text', role: 'user', message: 0 } as const
const customCount = 50
const targetMillis = { 1000: 1, 100000: 50 }

export async function measureGuard(isQuick: boolean): Promise<void> {
  const rounds = isQuick ? 10 : 40
  const corpus = readCorpus()
  const heldOut = corpus.filter(({ isHeldOut }) => isHeldOut)
  const accuracy = measureAccuracy(heldOut)
  write(`\nAccuracy on ${heldOut.length} passages that the detectors were not tuned on`)
  writeAccuracy(accuracy)
  const cpu = measureCpu(corpus, rounds)
  await Bun.write(
    'bench/results/guard.json',
    `${JSON.stringify({ at: new Date().toISOString(), accuracy, cpu }, null, 2)}\n`,
  )
}

function writeAccuracy(accuracy: Record<DetectorSlug, Accuracy>): void {
  write(
    `  ${'detector'.padEnd(24)} ${'precision'.padStart(9)} ${'recall'.padStart(9)} ${'marks'.padStart(6)}`,
  )
  for (const [slug, { precision, recall, marks }] of Object.entries(accuracy)) {
    const cells = [precision.toFixed(3).padStart(9), recall.toFixed(3).padStart(9), String(marks).padStart(6)]
    write(`  ${slug.padEnd(24)} ${cells.join(' ')}`)
  }
}

function measureCpu(corpus: readonly Passage[], rounds: number): Record<string, number> {
  const all = new FilterSet({ builtins: listBuiltins(), customs: [] })
  const withCustoms = new FilterSet({
    builtins: listBuiltins(),
    customs: listCustoms(),
  })
  const results: Record<string, number> = {}
  for (const [size, target] of Object.entries(targetMillis)) {
    const text = buildText(corpus, Number(size))
    write(`\nCPU for ${Number(size) / 1000} KB of the corpus, ms`)
    const add = (name: string, run: () => unknown) => {
      const millis = measureMillis(run, rounds)
      results[`${name}, ${size}`] = millis
      write(`  ${name.padEnd(32)} ${millis.toFixed(3).padStart(8)}`)
      return millis
    }
    for (const slug of detectorSlugs) add(slug, () => detectors[slug](text))
    const total = add('all built-in filters', () => all.scan(text, place))
    add(`and ${customCount} custom patterns`, () => withCustoms.scan(text, place))
    write(`  all built-in filters: at most ${target} ms, ${total <= target ? 'met' : 'missed'}`)
  }
  return results
}

function buildText(corpus: readonly Passage[], size: number): string {
  const texts = corpus.map(({ text }) => text).join('\n\n')
  return texts.repeat(Math.ceil(size / texts.length)).slice(0, size)
}

function listBuiltins(): BuiltinRule[] {
  return detectorSlugs.map((slug) => ({ slug, action: 'redact', isEnforced: true, layers: [] }))
}

function listCustoms(): CustomRule[] {
  return Array.from({ length: customCount }, (_, index) => ({
    pattern: [`\\bPROJ-${index}\\d{3,6}\\b`, `[A-Z]{2}${index}-\\d{4}`, `(?i)codename (alpha|beta)${index}`][
      index % 3
    ] as string,
    action: 'redact',
    label: `[CUSTOM_${index}]`,
    isEnforced: true,
    layers: [],
  }))
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}
