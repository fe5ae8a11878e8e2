// The accuracy of the task classifier on prompts that it was not tuned on, and its CPU time.
import { classifySample, classifyTask } from '../src/analytics/classifier/classify.ts'
import { type Hits, measureAccuracy, shareOf } from '../src/analytics/classifier/corpus/accuracy.ts'
import { readCorpus } from '../src/analytics/classifier/corpus/corpus.ts'
import { measureMillis } from './cpu-time.ts'

const targetMillis = 0.5

export async function measureClassifier(isQuick: boolean): Promise<void> {
  const rounds = isQuick ? 10 : 40
  const heldOut = readCorpus('held-out')
  const accuracy = measureAccuracy(heldOut)
  write(`\nAccuracy on ${heldOut.length} prompts that the classifier was not tuned on`)
  for (const name of ['tags', 'macros', 'categories'] as const) writeHits(name, accuracy[name])
  for (const [title, groups] of [
    ['Kind of work', accuracy.byMacro],
    ['Language', accuracy.byLanguage],
    ['Task', accuracy.byTag],
  ] as const) {
    write(`\n${title}`)
    for (const [name, hits] of groups) writeHits(name, hits)
  }
  write('\nCPU for one prompt, ms')
  const text = heldOut.map(({ sample }) => sample.userStart).join('\n')
  const cpu = Object.fromEntries(
    [100, 1000, 1_000_000].map((size) => {
      const prompt = text.repeat(Math.ceil(size / text.length)).slice(0, size)
      const call = {
        messages: [{ role: 'user' as const, parts: [{ kind: 'text' as const, text: prompt }] }],
        stream: false,
        unknown: [],
      }
      const millis = measureMillis(() => classifyTask(call), rounds)
      write(`  ${`${size} characters`.padEnd(28)} ${millis.toFixed(4)}`)
      return [size, millis]
    }),
  )
  const mean = measureMillis(() => heldOut.map(({ sample }) => classifySample(sample)), rounds)
  write(`  ${'mean of the corpus'.padEnd(28)} ${(mean / heldOut.length).toFixed(4)}`)
  const isMet = Math.max(...Object.values(cpu)) <= targetMillis
  write(`  at most ${targetMillis} ms, whatever the size: ${isMet ? 'met' : 'missed'}`)
  await Bun.write(
    'bench/results/classifier.json',
    `${JSON.stringify({ at: new Date().toISOString(), tags: accuracy.tags, macros: accuracy.macros, cpu }, null, 2)}\n`,
  )
}

function writeHits(name: string, hits: Hits): void {
  write(`  ${name.padEnd(28)} ${shareOf(hits).toFixed(3)}  of ${hits.total}`)
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}
