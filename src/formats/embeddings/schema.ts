import { z } from 'zod'
import { asObject } from '../../platform/json/json-values.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'
import { maxDimensions } from './vector.ts'

/** The highest number of inputs that a vendor accepts. */
export const maxInputs = 2048

const text = z.string().min(1)
const tokens = z.array(z.int().min(0)).min(1)
const media = z.looseObject({
  data: text.describe('Base64, or a data URL.'),
  format: z.string().max(100).optional().describe('The format of the data, such as `mp4`.'),
})

const part = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text'), text }),
    z.looseObject({ type: z.literal('image_url'), image_url: z.looseObject({ url: text }) }),
    z.looseObject({ type: z.literal('input_audio'), input_audio: media }),
    z.looseObject({ type: z.literal('input_video'), input_video: media }),
    z.looseObject({ type: z.literal('input_file'), input_file: media }),
  ],
  'must be a part of type text, image_url, input_audio, input_video or input_file',
)

const list = <T extends z.ZodType>(entry: T) => z.array(entry).min(1).max(maxInputs)

const input = z.union(
  [text, list(text), tokens, list(tokens), list(z.looseObject({ content: z.array(part).min(1) }))],
  `must be a text, a list of tokens, or a list of at most ${maxInputs} texts, lists of tokens or { content } objects, none of them empty`,
)

/** A request for embeddings. Unknown fields are reported as dropped. */
export const embeddingsRequest = z
  .looseObject({
    model: z.string().min(1).optional().describe('Required unless the workspace has a default model.'),
    models: sharedFields.models,
    input,
    dimensions: z.int().min(1).max(maxDimensions).nullish(),
    encoding_format: z
      .enum(['float', 'base64'])
      .nullish()
      .describe('`base64`: float32 numbers, little-endian. By default `float`.'),
    input_type: z
      .string()
      .min(1)
      .max(256)
      .nullish()
      .describe(
        'What the embeddings are for: `search_query`, `search_document`, `classification`, `clustering`, or a value of the provider.',
      ),
    user: z.string().nullish(),
    provider: providerPreferences.nullish(),
    session_id: sharedFields.session_id,
    trace: sharedFields.trace,
  })
  .meta({ id: 'EmbeddingsRequest' })

const plainFields: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format', 'dimensions', 'user'])

/** The usual body, which the schema would return unchanged: texts or tokens with simple parameters. */
export function isPlainEmbeddings(value: unknown): boolean {
  const body = asObject(value)
  if (!body || !isText(body.model)) return false
  for (const name in body) if (!plainFields.has(name)) return false
  const { input, encoding_format: encoding, dimensions, user } = body
  return (
    isPlainInput(input) &&
    (encoding === undefined || encoding === 'float' || encoding === 'base64') &&
    (dimensions === undefined || isDimensions(dimensions)) &&
    (user === undefined || typeof user === 'string')
  )
}

function isPlainInput(value: unknown): boolean {
  if (isText(value)) return true
  if (!Array.isArray(value) || value.length === 0) return false
  if (value.every(isToken)) return true
  return value.length <= maxInputs && (value.every(isText) || value.every(isTokenList))
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isTokenList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isToken)
}

function isDimensions(value: unknown): boolean {
  return isToken(value) && (value as number) >= 1 && (value as number) <= maxDimensions
}
