// Trains the model of the filter `regex-prompt-injection` and writes src/governance/filters/prompt-injection-model.json:
// npm run injection-model -- <folder of labeled texts, as for npm run bench -- guard --corpus>
// A file whose name begins with `chat` has ordinary requests: the score 0.5 is where 0.2 % of them are above.
import { writeFileSync } from 'node:fs'
import { type LabeledText, readLabeledSets } from '../bench/labeled-texts.ts'
import { plainLetters } from '../src/governance/filters/plain-text.ts'
import { featureCount, readWindows, shortPenalty } from '../src/governance/filters/prompt-injection-model.ts'

const slug = 'regex-prompt-injection'
const folds = 5
const passes = 6
const maxCharacters = 20_000
/** The share of ordinary requests above the score 0.5. */
const falsePositives = 0.002
/** Windows of a text without injections that are learned from: the worst ones. */
const maxWindows = 6
const learningRate = 0.3
const decay = 1e-6
const positiveWeight = 2

interface Example {
  set: string
  isInjection: boolean
  windows: Uint16Array[]
  fold: number
}

interface Weights {
  features: Float64Array
  bias: number
}

const [folder] = process.argv.slice(2)
if (!folder) throw new Error('npm run injection-model -- <folder>')
const examples = readLabeledSets(folder).flatMap(({ file, texts }) =>
  texts.map((text) => readExample(file, text)),
)

const scored = Array.from({ length: folds }, (_, fold) => {
  const weights = train(examples.filter((example) => example.fold !== fold))
  return examples
    .filter((example) => example.fold === fold)
    .map((example) => ({ ...example, score: scoreExample(example, weights) }))
}).flat()
const threshold = findThreshold(scored)
for (const set of new Set(scored.map(({ set }) => set))) {
  const own = scored.filter((example) => example.set === set)
  const found = own.filter(({ score }) => score >= threshold).length
  process.stdout.write(
    `${set}: ${found} of ${own.length} at 0.5 (${((100 * found) / own.length).toFixed(1)} %)\n`,
  )
}
writeModel(train(examples), threshold)

function readExample(set: string, { text, contained }: LabeledText): Example {
  const plain = plainLetters(text.slice(0, maxCharacters)).text
  return {
    set,
    isInjection: contained.some((mark) => mark.slug === slug),
    windows: [...readWindows(plain)].map(({ features }) => Uint16Array.from(features)),
    fold: Bun.hash.crc32(text) % folds,
  }
}

/** Logistic regression with AdaGrad. An injection is learned from the windows that look most like one. */
function train(training: readonly Example[]): Weights {
  const weights: Weights = { features: new Float64Array(featureCount), bias: -2 }
  const steps = { features: new Float64Array(featureCount).fill(1e-4), bias: 1 }
  const random = createRandom()
  const order = training.filter(({ windows }) => windows.length > 0)
  for (let pass = 0; pass < passes; pass++) {
    shuffle(order, random)
    for (const { isInjection, windows } of order) {
      const count = isInjection ? (pass < 2 ? windows.length : Math.ceil(windows.length / 3)) : maxWindows
      const worst = windows
        .toSorted((a, b) => scoreWindow(b, weights) - scoreWindow(a, weights))
        .slice(0, count)
      const share = (isInjection ? positiveWeight : 1) / Math.sqrt(worst.length)
      for (const window of worst) learn(window, isInjection, share)
    }
  }
  return weights

  function learn(window: Uint16Array, isInjection: boolean, share: number): void {
    const error = share * (1 / (1 + Math.exp(-scoreWindow(window, weights))) - Number(isInjection))
    for (const feature of window) {
      const weight = weights.features[feature] ?? 0
      const slope = error / Math.sqrt(window.length + shortPenalty) + decay * weight
      const step = (steps.features[feature] ?? 0) + slope * slope
      steps.features[feature] = step
      weights.features[feature] = weight - (learningRate * slope) / Math.sqrt(step)
    }
    steps.bias += error * error
    weights.bias -= (0.1 * error) / Math.sqrt(steps.bias)
  }
}

function scoreWindow(window: Uint16Array, { features, bias }: Weights): number {
  let sum = 0
  for (const feature of window) sum += features[feature] ?? 0
  return bias + sum / Math.sqrt(window.length + shortPenalty)
}

function scoreExample({ windows }: Example, weights: Weights): number {
  return Math.max(Number.NEGATIVE_INFINITY, ...windows.map((window) => scoreWindow(window, weights)))
}

function findThreshold(results: readonly { set: string; isInjection: boolean; score: number }[]): number {
  const ordinary = results.filter(({ set, isInjection }) => set.startsWith('chat') && !isInjection)
  const scores = ordinary.map(({ score }) => score).toSorted((a, b) => b - a)
  const score = scores[Math.floor(scores.length * falsePositives)]
  if (score === undefined) throw new Error('no file whose name begins with chat')
  return score
}

/** Weights in steps of a 127th of the largest; the bias makes the threshold the score 0.5. */
function writeModel({ features, bias }: Weights, threshold: number): void {
  const largest = features.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0)
  const rounded = Int8Array.from(features, (weight) => Math.round((127 * weight) / largest))
  const model = {
    bias: Number((bias - threshold).toFixed(4)),
    scale: Number((largest / 127).toFixed(6)),
    weights: Buffer.from(rounded.buffer).toString('base64'),
  }
  const file = new URL('../src/governance/filters/prompt-injection-model.json', import.meta.url)
  writeFileSync(file, `${JSON.stringify(model, null, 2)}\n`)
}

/** The same numbers in every run, so that a model can be made again. */
function createRandom(): () => number {
  let state = 1
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff
    return state / 0x8000_0000
  }
}

function shuffle<T>(list: T[], random: () => number): void {
  for (let index = list.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1))
    const [a, b] = [list[index], list[other]]
    if (a !== undefined && b !== undefined) [list[index], list[other]] = [b, a]
  }
}
