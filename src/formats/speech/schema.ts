import { z } from 'zod'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'
import { speechFormats } from '../vocabulary.ts'

/** The longest text that a vendor accepts; most accept less. */
const maxInputCharacters = 40_000
const maxInstructionCharacters = 10_000
const maxReferenceText = 10_000
/** Characters in base64. */
const maxReferenceAudio = 20_971_520

const audioReference = z.looseObject({
  type: z.literal('input_audio'),
  input_audio: z.looseObject({
    data: z.string().min(1).max(maxReferenceAudio),
    format: z
      .string()
      .regex(/^[a-z0-9.+-]{1,32}$/, 'must be a format such as wav')
      .optional(),
  }),
})

const textReference = z.looseObject({ type: z.literal('text'), text: z.string().max(maxReferenceText) })

const inputReferences = z
  .array(z.discriminatedUnion('type', [audioReference, textReference]))
  .refine(
    (parts) => countParts(parts, 'input_audio') === 1 && countParts(parts, 'text') <= 1,
    'must be one input_audio part, and at most one text part with its transcript',
  )
  .meta({
    override: { contains: { properties: { type: { const: 'input_audio' } } }, maxContains: 1, maxItems: 2 },
  })

function countParts(parts: readonly { type: string }[], type: string): number {
  return parts.filter((part) => part.type === type).length
}

/** Some formats have it in the path of the request, where dots alone are another path. */
const voiceName = z.string().max(256).regex(/[^.]/, 'must be the name of a voice')

const voice = z.union(
  [voiceName, z.looseObject({ id: voiceName })],
  'must be the name of a voice, or { id } of a custom one',
)

const fields = {
  model: z.string().min(1),
  models: sharedFields.models,
  input: z.string().min(1).max(maxInputCharacters).describe('The text to speak'),
  voice: voice.optional().describe('Required for models without a default voice'),
  response_format: z
    .enum(speechFormats)
    .optional()
    .describe('`pcm` is 16 bit, little endian, mono. For requests of the OpenAI SDKs, `mp3` is the default')
    .meta({ override: { default: 'pcm' } }),
  stream_format: z
    .enum(['audio', 'sse'])
    .default('audio')
    .describe('`sse` delivers the audio in server-sent events, the last of which has the usage'),
  speed: z.number().min(0.25).max(4).optional(),
  instructions: z.string().max(maxInstructionCharacters).optional().describe('How to speak'),
  input_references: inputReferences
    .optional()
    .describe('A recording whose voice is imitated, for models that support it'),
  provider: providerPreferences
    .extend({
      options: z
        .record(z.string(), z.looseObject({}))
        .optional()
        .describe('Fields for a provider, by its slug'),
    })
    .meta({ id: 'SpeechProviderPreferences' })
    .nullish(),
  session_id: sharedFields.session_id,
  trace: sharedFields.trace,
  user: z.string().optional(),
}

export const speechRequest = z.looseObject(fields).meta({ id: 'SpeechRequest' })
export type SpeechRequest = z.output<typeof speechRequest>

export const effectiveFields: ReadonlySet<string> = new Set(Object.keys(fields))
