import { z } from 'zod'
import { ifFieldIn } from '../../platform/validation/schema-rules.ts'
import {
  type TranscriptionCall,
  timestampGranularities,
  transcriptFormats,
  translationFormats,
} from '../call/transcription.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'

export const audioFormatNames = ['wav', 'mp3', 'flac', 'm4a', 'ogg', 'webm', 'aac'] as const

const chunkingStrategy = z.union(
  [
    z.literal('auto'),
    z.looseObject({
      type: z.literal('server_vad'),
      prefix_padding_ms: z.int().min(0).optional(),
      silence_duration_ms: z.int().min(0).optional(),
      threshold: z.number().min(0).max(1).optional(),
    }),
  ],
  'must be auto or { type: "server_vad", ... }',
)

const provider = providerPreferences
  .extend({
    options: z
      .record(z.string().max(256), z.looseObject({}))
      .optional()
      .describe('Parameters for one provider, by its slug; others do not receive them.'),
  })
  .nullish()

const translationFields = {
  model: z.string().min(1).max(1024),
  models: sharedFields.models,
  prompt: z.string().max(100_000).optional().describe('Guides the style, or the spelling of names.'),
  temperature: z.number().min(0).max(2).optional(),
  response_format: z.enum(translationFormats).optional().describe('`json` by default.'),
  provider,
  session_id: sharedFields.session_id,
  user: z.string().optional(),
  trace: sharedFields.trace,
}

/** Names and recordings of speakers belong together by their position. */
const maxKnownSpeakers = 4
/** Ten seconds of the best quality, in base64. */
export const maxReferenceCharacters = 3 * 1024 * 1024

const transcriptionFields = {
  ...translationFields,
  response_format: z
    .enum(transcriptFormats)
    .optional()
    .describe('`json` by default. `diarized_json` says who speaks, for models that tell speakers apart.'),
  known_speaker_names: z
    .array(z.string().min(1).max(256))
    .max(maxKnownSpeakers)
    .optional()
    .describe('Labels for speakers, in the order of `known_speaker_references`.'),
  known_speaker_references: z
    .array(
      z
        .string()
        .max(maxReferenceCharacters)
        .regex(/^data:audio\/[\w.+-]+;base64,/, 'must be a data URL of audio'),
    )
    .max(maxKnownSpeakers)
    .optional()
    .describe('Recordings of 2 to 10 seconds as data URLs, one for each name.'),
  language: z.string().min(1).max(64).optional().describe('Of the recording, as in ISO 639-1.'),
  timestamp_granularities: z
    .array(z.enum(timestampGranularities))
    .max(2)
    .optional()
    .describe('Only with `verbose_json`: `segment` by default.'),
  stream: z
    .boolean()
    .nullish()
    .describe('Replies with server-sent events; only with `json`, `text` and `diarized_json`.'),
  include: z
    .array(z.enum(['logprobs']))
    .max(1)
    .optional(),
  chunking_strategy: chunkingStrategy.nullish(),
}

const inputAudio = z.strictObject({
  data: z.string().min(1).describe('The recording in base64.'),
  format: z.enum(audioFormatNames),
})

interface CrossFieldInput {
  response_format?: string | undefined
  timestamp_granularities?: string[] | undefined
  stream?: boolean | null | undefined
  include?: string[] | undefined
  known_speaker_names?: string[] | undefined
  known_speaker_references?: string[] | undefined
}

const timedFormats = ['srt', 'verbose_json', 'vtt']

const countNames = ({ known_speaker_names }: CrossFieldInput) => known_speaker_names?.length ?? 0
const countReferences = ({ known_speaker_references }: CrossFieldInput) =>
  known_speaker_references?.length ?? 0

/** Rules that involve two fields. */
function withCrossFieldRules<T extends z.ZodType<CrossFieldInput>>(body: T): T {
  return body
    .refine(
      ({ timestamp_granularities, response_format }) =>
        !timestamp_granularities?.length || response_format === 'verbose_json',
      { path: ['timestamp_granularities'], message: 'requires response_format verbose_json' },
    )
    .refine(({ stream, response_format }) => !stream || !timedFormats.includes(response_format ?? ''), {
      path: ['response_format'],
      message: 'must be json, text or diarized_json in a stream',
    })
    .refine((body) => countNames(body) <= countReferences(body), {
      path: ['known_speaker_references'],
      message: 'must have a recording for each of known_speaker_names',
    })
    .refine((body) => countNames(body) >= countReferences(body), {
      path: ['known_speaker_names'],
      message: 'must have a name for each of known_speaker_references',
    })
    .refine(({ include, response_format = 'json' }) => !include?.length || response_format === 'json', {
      path: ['include'],
      message: 'requires response_format json',
    })
    .meta({
      override: ifFieldIn('response_format', timedFormats, {
        properties: { stream: { enum: [false, null] } },
      }),
    })
}

/** The form without its file. */
export const transcriptionForm = withCrossFieldRules(z.looseObject(transcriptionFields))
export const translationForm = z.looseObject(translationFields)

/** The same as JSON. */
export const transcriptionRequest = withCrossFieldRules(
  z.looseObject({ ...transcriptionFields, input_audio: inputAudio }),
).describe('A recording as base64. Clients of the OpenAI API send a form instead.')
export const translationRequest = z.looseObject({ ...translationFields, input_audio: inputAudio })

export type TranscriptionFields = z.output<typeof transcriptionForm>

/** Every other field of a request is one that only some formats have. */
export const knownFields: Readonly<Record<TranscriptionCall['task'], ReadonlySet<string>>> = {
  transcribe: new Set([...Object.keys(transcriptionFields), 'input_audio']),
  translate: new Set([...Object.keys(translationFields), 'input_audio']),
}

const seconds = z.number().min(0)

export const transcriptionResponse = z
  .looseObject({
    text: z.string(),
    task: z.string().optional().describe('With `verbose_json`, like the following fields.'),
    language: z.string().optional(),
    duration: seconds.optional(),
    segments: z
      .array(
        z.looseObject({
          id: z.int(),
          start: seconds,
          end: seconds,
          text: z.string(),
          speaker: z.int().optional(),
        }),
      )
      .optional(),
    words: z
      .array(z.looseObject({ word: z.string(), start: seconds, end: seconds, speaker: z.int().optional() }))
      .optional(),
    confidence: z.number().optional(),
    usage: z.looseObject({ cost: z.number(), seconds: seconds.optional() }),
  })
  .meta({ id: 'Transcription' })
