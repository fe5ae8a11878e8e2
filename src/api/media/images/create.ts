import { z } from 'zod'
import type { ImagesCall } from '../../../formats/call/images.ts'
import { chat } from '../../../formats/chat/chat.ts'
import { decodeImageBody, decodeImagesRequest } from '../../../formats/images/decode.ts'
import type { EventPrefix } from '../../../formats/images/encode.ts'
import { imageEditForm, imageRequest } from '../../../formats/images/schema.ts'
import { defineOperation, type OperationContext } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { imagesTask, respondWithImages } from '../../../inference/media/images.ts'
import type { MediaBody } from '../../../inference/media/task.ts'
import { handleMedia } from '../../../inference/serve-media.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { readEditForm } from './edit-form.ts'

const tag = 'Images'

const imagesResponse = z
  .looseObject({
    created: z.int(),
    data: z.array(z.looseObject({ b64_json: z.string(), media_type: z.string() })),
    usage: z.looseObject({
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      total_tokens: z.int(),
      cost: z.number(),
      is_byok: z.boolean(),
    }),
  })
  .meta({ id: 'ImageGenerationResponse' })

const createImages = defineOperation({
  id: 'createImages',
  method: 'POST',
  path: '/images',
  aliases: ['/images/generations'],
  tag,
  summary: 'Generates images from a prompt.',
  description:
    'With `stream: true` the response is a stream of server-sent events: previews, if the model has them, then the images.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError, deployments: true },
  body: imageRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: imagesResponse,
  handle: (context) => generate(context, { body: context.body, decode: decodeImageBody }, 'image_generation'),
})

const editImages = defineOperation({
  id: 'editImages',
  method: 'POST',
  path: '/images/edits',
  tag,
  summary: 'Generates images from a prompt and images, uploaded as a form.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError },
  rawBody: { contentType: 'multipart/form-data', schema: imageEditForm },
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: imagesResponse,
  handle: async (context) => {
    const { body, attached } = await readEditForm(context.gateway, context.httpRequest)
    const decode = (options: JsonObject) => decodeImagesRequest(options, attached)
    return generate(context, { body, decode }, 'image_edit')
  },
})

export const createImageOperations = [createImages, editImages]

function generate(
  {
    gateway,
    caller,
    region,
    httpRequest,
  }: Pick<
    OperationContext<'inference:write', undefined, undefined, undefined>,
    'gateway' | 'caller' | 'region' | 'httpRequest'
  >,
  received: MediaBody<ImagesCall>,
  prefix: EventPrefix,
): Promise<Response> {
  const incoming = { caller, region, httpRequest, ...received }
  return handleMedia(gateway, incoming, imagesTask, respondWithImages(prefix))
}
