import type { Endpoint } from '../../catalog/model.ts'
import { needsSpeakers, type Recording, type TranscriptionCall } from '../../formats/call/transcription.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import { transcriptionWireFormats } from '../../formats/transcriptions/all.ts'
import {
  buildPrompt,
  decodeInputAudio,
  decodeTranscription,
  measureTranscription,
} from '../../formats/transcriptions/decode.ts'
import { type AudioSource, readRecording } from '../../formats/transcriptions/recording.ts'
import { type TranscriptionFields, transcriptionRequest } from '../../formats/transcriptions/schema.ts'
import type { TranscriptionWireFormat } from '../../formats/transcriptions/wire-format.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import type { DecodedMedia, FieldProblem, MediaBody, MediaSupport } from './task.ts'

export const transcriptionSupport: MediaSupport<TranscriptionCall, TranscriptionWireFormat> = {
  name: 'transcriptions',
  fields: describeBodyFields(transcriptionRequest.shape),
  wireFormats: transcriptionWireFormats,
  findProblem,
  listAllowedOptions: (endpoint) => findWireFormat(endpoint)?.options ?? [],
}

/** Checks the recording: that of a JSON body if there is no file. */
export async function openTranscription(
  task: TranscriptionCall['task'],
  fields: TranscriptionFields,
  file?: AudioSource,
): Promise<MediaBody<TranscriptionCall>> {
  const recording = await readRecording(file ?? (await decodeInputAudio(fields)))
  const { known_speaker_references } = fields
  const restore = (body: JsonObject) =>
    known_speaker_references ? { ...body, known_speaker_references } : body
  return { body: omitAudio(fields), decode: (body) => decodeBody(task, body, restore(body), recording) }
}

function decodeBody(
  task: TranscriptionCall['task'],
  body: JsonObject,
  whole: JsonObject,
  recording: Recording,
): DecodedMedia<TranscriptionCall> {
  const call = decodeTranscription(task, whole as TranscriptionFields, recording)
  return { body, call, prompt: buildPrompt(call), opaque: ['audio'], size: measureTranscription(call) }
}

/** Drops recordings, which are not logged. */
function omitAudio({ input_audio, known_speaker_references: _, ...fields }: JsonObject): JsonObject {
  const audio = asObject(input_audio)
  return audio ? { ...fields, input_audio: { format: audio.format } } : fields
}

function findWireFormat({ wireFormats }: Endpoint): TranscriptionWireFormat | undefined {
  const known: Readonly<Record<string, TranscriptionWireFormat>> = transcriptionWireFormats
  return wireFormats.map((name) => known[name]).find((wireFormat) => wireFormat !== undefined)
}

function findProblem(call: TranscriptionCall, endpoint: Endpoint): FieldProblem | null {
  const wireFormat = findWireFormat(endpoint)
  if (call.task === 'translate' && wireFormat?.translates === false)
    return { field: 'model', problem: 'cannot translate; send the recording to POST /audio/transcriptions' }
  const diarizes = endpoint.supports_diarization ?? wireFormat?.diarizes
  if (needsSpeakers(call) && diarizes === false)
    return {
      field: 'response_format',
      problem: 'must not be diarized_json, because this model cannot tell speakers apart',
    }
  return null
}
