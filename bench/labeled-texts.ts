// Labeled texts from outside the repository, for `npm run bench -- guard --corpus <folder>`.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type DetectorSlug, detectorSlugs } from '../src/governance/filters/detectors.ts'

/** The labels of public corpora, and the filter that must find them. Slugs of filters are labels too. */
const labels: Readonly<Record<string, DetectorSlug>> = {
  EMAIL: 'email',
  EMAIL_ADDRESS: 'email',
  PHONE: 'phone',
  PHONE_NUMBER: 'phone',
  TELEPHONENUM: 'phone',
  CREDIT_CARD: 'credit-card',
  CREDIT_CARD_NUMBER: 'credit-card',
  CREDITCARDNUMBER: 'credit-card',
  US_SSN: 'ssn',
  SSN: 'ssn',
  IP: 'ip-address',
  IP_ADDRESS: 'ip-address',
  IPV4: 'ip-address',
  IPV6: 'ip-address',
  NAME: 'person-name',
  PERSON: 'person-name',
  PER: 'person-name',
  ADDRESS: 'address',
  STREET_ADDRESS: 'address',
  SECRET: 'secrets',
  API_KEY: 'secrets',
  PASSWORD: 'secrets',
  INJECTION: 'regex-prompt-injection',
  JAILBREAK: 'regex-prompt-injection',
  ...Object.fromEntries(detectorSlugs.map((slug) => [normalize(slug), slug])),
}

/** A span that a filter must match. */
export interface LabeledSpan {
  slug: DetectorSlug
  label: string
  start: number
  end: number
}

export interface LabeledText {
  text: string
  language: string
  /** What is in the text at a known place. */
  spans: LabeledSpan[]
  /** Filters that must match somewhere in the text, with the label that says so. */
  contained: { slug: DetectorSlug; label: string }[]
}

export interface LabeledSet {
  file: string
  texts: LabeledText[]
  /** The filters that the labels of the set are about: a text without their labels has nothing for them. */
  slugs: ReadonlySet<DetectorSlug>
  /** Labels that no filter is for, and how many there are. */
  ignored: ReadonlyMap<string, number>
}

const lineSchema = z.object({
  text: z.string(),
  language: z.string().optional(),
  spans: z
    .array(
      z.object({
        start: z.int().min(0),
        end: z.int(),
        label: z.string().optional(),
        type: z.string().optional(),
      }),
    )
    .optional(),
  /** Of the whole text; null if it has nothing. */
  label: z.string().nullable().optional(),
  /** What `label` is counted under in the report, such as the format of a secret. */
  kind: z.string().optional(),
})
const listSchema = z.union([
  z.array(z.string()).transform((positives) => ({
    filter: 'regex-prompt-injection',
    language: undefined,
    positives,
    negatives: [],
  })),
  z.object({
    filter: z.string(),
    language: z.string().optional(),
    positives: z.array(z.string()).default([]),
    negatives: z.array(z.string()).default([]),
  }),
])

const unknownLanguage = '-'

/** Reads the files of a folder: `.jsonl` with a text on each line, `.json` with lists, `.txt` with a text on each line. */
export function readLabeledSets(folder: string): LabeledSet[] {
  const sets = readdirSync(folder)
    .sort()
    .flatMap((file) => readSet(folder, file) ?? [])
  if (sets.length === 0) throw new Error(`${folder} has no .jsonl, .json or .txt files of labeled texts`)
  return sets
}

function readSet(folder: string, file: string): LabeledSet | null {
  const read = () => readFileSync(join(folder, file), 'utf8')
  const builder = new SetBuilder(file)
  if (file.endsWith('.jsonl')) {
    const lines = read().split('\n')
    for (const [index, line] of lines.entries()) if (line.trim() !== '') builder.addLine(line, index + 1)
  } else if (file.endsWith('.json')) builder.addLists(read())
  else if (/\.(?:positives|negatives)\.txt$/.test(file)) builder.addPlainList(read())
  else return null
  return builder.build()
}

class SetBuilder {
  readonly #file: string
  readonly #texts: LabeledText[] = []
  readonly #slugs = new Set<DetectorSlug>()
  readonly #ignored = new Map<string, number>()

  constructor(file: string) {
    this.#file = file
  }

  addLine(line: string, number: number): void {
    const place = `${this.#file}, line ${number}`
    const { text, language = unknownLanguage, spans = [], label, kind } = parse(lineSchema, line, place)
    const marks = spans.flatMap(({ start, end, label, type }) => {
      const name = label ?? type
      if (name === undefined) throw new Error(`${place}: a span needs a label`)
      if (end <= start || end > text.length) throw new Error(`${place}: a span is outside the text`)
      const slug = this.#findSlug(name)
      return slug ? [{ slug, label: name, start, end }] : []
    })
    const slug = label ? this.#findSlug(label) : null
    const contained = slug ? [{ slug, label: kind ?? label ?? '' }] : []
    this.#texts.push({ text, language, spans: marks, contained })
  }

  addLists(content: string): void {
    const { filter, language, positives, negatives } = parse(listSchema, content, this.#file)
    this.#addLists(filter, language, positives, negatives)
  }

  /** `secrets.positives.txt`: the name says what the texts are. */
  addPlainList(content: string): void {
    const [filter = '', kind] = this.#file.split('.').filter((part) => part !== 'txt')
    const lines = content.split('\n').filter((line) => line.trim() !== '')
    this.#addLists(filter, undefined, kind === 'positives' ? lines : [], kind === 'negatives' ? lines : [])
  }

  #addLists(filter: string, language = unknownLanguage, positives: string[], negatives: string[]): void {
    const slug = labels[normalize(filter)]
    if (!slug) throw new Error(`${this.#file}: no filter is named "${filter}"`)
    this.#slugs.add(slug)
    for (const text of positives)
      this.#texts.push({ text, language, spans: [], contained: [{ slug, label: slug }] })
    for (const text of negatives) this.#texts.push({ text, language, spans: [], contained: [] })
  }

  build(): LabeledSet {
    return { file: this.#file, texts: this.#texts, slugs: this.#slugs, ignored: this.#ignored }
  }

  #findSlug(label: string): DetectorSlug | null {
    const slug = labels[normalize(label)]
    if (slug) this.#slugs.add(slug)
    else this.#ignored.set(label, (this.#ignored.get(label) ?? 0) + 1)
    return slug ?? null
  }
}

function normalize(label: string): string {
  return label
    .replace(/^[BI]-/, '')
    .replaceAll(/[- ]/g, '_')
    .toUpperCase()
}

function parse<T>(schema: z.ZodType<T>, content: string, place: string): T {
  try {
    return schema.parse(JSON.parse(content))
  } catch (error) {
    throw new Error(`${place}: ${error instanceof Error ? error.message : error}`)
  }
}
