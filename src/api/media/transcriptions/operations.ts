import { z } from 'zod'
import type { Caller } from '../../../access/caller.ts'
import type { TranscriptionCall } from '../../../formats/call/transcription.ts'
import { chat } from '../../../formats/chat/chat.ts'
import {
  type TranscriptionFields,
  transcriptionForm,
  transcriptionRequest,
  transcriptionResponse,
  translationForm,
  translationRequest,
} from '../../../formats/transcriptions/schema.ts'
import type { DataRegion } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { handleTranscription } from '../../../inference/transcribe.ts'
import { validateInput } from '../../../platform/validation/validate-input.ts'
import { maxFormBytes, readUpload } from './form.ts'

const tag = 'Audio'
const file = z
  .string()
  .meta({ format: 'binary' })
  .describe('At most 25 MB. The content must match the extension and the content type.')
const inference = { encodeError: chat.client.encodeError, deployments: true } as const
const textTypes = ['text/plain']

const createTranscription = defineOperation({
  id: 'createTranscription',
  method: 'POST',
  path: '/audio/transcriptions',
  tag,
  summary: 'Transcribes a recording.',
  description:
    'As a form, as clients of the OpenAI API send it, or as JSON. The formats `text`, `srt` and `vtt` are plain text. With `stream`, the response is a stream of `transcript.text.delta` events that ends with `transcript.text.done`.',
  permission: 'inference:write',
  inference,
  body: transcriptionRequest,
  rawBody: {
    contentType: 'multipart/form-data',
    schema: transcriptionForm.safeExtend({ file }),
    maxBytes: () => maxFormBytes,
  },
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: [...textTypes, ...streamTypes],
  response: transcriptionResponse,
  handle: (context) => respond(context, 'transcribe', transcriptionForm),
})

const createTranslation = defineOperation({
  id: 'createTranslation',
  method: 'POST',
  path: '/audio/translations',
  tag,
  summary: 'Translates a recording into English.',
  description: 'Only with models whose provider translates, such as Whisper.',
  permission: 'inference:write',
  inference,
  body: translationRequest,
  rawBody: {
    contentType: 'multipart/form-data',
    schema: translationForm.safeExtend({ file }),
    maxBytes: () => maxFormBytes,
  },
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: textTypes,
  response: transcriptionResponse,
  handle: (context) => respond(context, 'translate', translationForm),
})

export const transcriptionOperations = [createTranscription, createTranslation]

interface RequestContext {
  gateway: Gateway
  caller: Caller
  region: DataRegion
  httpRequest: Request
  /** Absent if the request is a form. */
  body: unknown
  deployment: string | undefined
}

async function respond(
  { gateway, caller, region, httpRequest, body, deployment }: RequestContext,
  task: TranscriptionCall['task'],
  form: z.ZodType,
): Promise<Response> {
  const incoming = { caller, region, httpRequest, task }
  if (body) return handleTranscription(gateway, { ...incoming, fields: body as TranscriptionFields })
  const upload = await readUpload(gateway, httpRequest)
  const named = deployment === undefined ? upload.fields : { ...upload.fields, model: deployment }
  const fields = validateInput(form, named, 'body') as TranscriptionFields
  return handleTranscription(gateway, { ...incoming, fields, file: upload.file })
}
