import { z } from 'zod'
import { secretField, urlField } from '../../../delivery/destinations/destination.ts'
import { asObject, omitUndefined } from '../../../platform/json/json-values.ts'
import { buildVerdict, defineCheckService, labelOf, listObjects, readSpan, trimSlash } from './service.ts'

/** The analyzer of Presidio, which has no authentication of its own. */
export const presidio = defineCheckService({
  type: 'presidio',
  name: 'Presidio',
  fields: {
    url: urlField,
    language: z
      .string()
      .regex(/^[a-z]{2}$/, 'must be a code of two letters')
      .default('en'),
    entities: z.array(z.string().min(1).max(100)).min(1).max(100).optional(),
    score_threshold: z.number().min(0).max(1).optional(),
    /** For a proxy in front of it. */
    api_key: secretField.optional(),
  },
  secrets: ['api_key'],
  address: 'url',
  canRedact: true,
  maxCharacters: 100_000,
  target: ({ url }) => url,
  check: async ({ url, api_key, ...options }, { text }, post) => {
    const found = listObjects(
      await post({
        url: `${trimSlash(url)}/analyze`,
        headers: api_key === undefined ? {} : { authorization: `Bearer ${api_key}` },
        body: JSON.stringify(omitUndefined({ text, ...options })),
      }),
    )
    const offsets = new CodePoints(text)
    const spans = found.map((item) => {
      const { start, end, label } = readSpan(item, offsets.length, labelOf(asObject(item)?.entity_type))
      return { start: offsets.toIndex(start), end: offsets.toIndex(end), label }
    })
    const kinds = found.map(({ entity_type }) => entity_type)
    return buildVerdict(found.length > 0, kinds, spans)
  },
})

/** Places in characters, as Python counts them. */
class CodePoints {
  readonly #starts: number[] | null
  readonly length: number

  constructor(text: string) {
    this.#starts = /[\ud800-\udfff]/.test(text) ? listStarts(text) : null
    this.length = this.#starts ? this.#starts.length - 1 : text.length
  }

  toIndex(place: number): number {
    return this.#starts?.[place] ?? place
  }
}

/** The index of each character, and of the end. */
function listStarts(text: string): number[] {
  const starts = [0]
  for (const character of text) starts.push((starts.at(-1) ?? 0) + character.length)
  return starts
}
