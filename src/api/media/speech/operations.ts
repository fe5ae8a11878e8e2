import { chat } from '../../../formats/chat/chat.ts'
import { completeSdkBody, decodeSpeechRequest } from '../../../formats/speech/decode.ts'
import { speechRequest } from '../../../formats/speech/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { streamMedia } from '../../../inference/media/reply-streamed.ts'
import { speechTask } from '../../../inference/media/speech.ts'
import { isOpenAiSdk } from '../../../inference/request/vendor-sdk.ts'
import { handleMedia } from '../../../inference/serve-media.ts'

const createSpeech = defineOperation({
  id: 'createSpeech',
  method: 'POST',
  path: '/audio/speech',
  tag: 'Speech',
  summary: 'Speaks a text.',
  description:
    'The response is the audio, as it is generated; `Content-Type` names its format. With `stream_format: sse` it is a stream of server-sent events.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError, deployments: true },
  body: speechRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: { contentType: 'audio/*' },
  otherContentTypes: streamTypes,
  handle: ({ gateway, caller, region, httpRequest, body }) => {
    const completed = isOpenAiSdk(httpRequest) ? completeSdkBody(body) : body
    const incoming = { caller, region, httpRequest, body: completed, decode: decodeSpeechRequest }
    return handleMedia(gateway, incoming, speechTask, (...admitted) => streamMedia(...admitted, speechTask))
  },
})

export const speechOperations = [createSpeech]
