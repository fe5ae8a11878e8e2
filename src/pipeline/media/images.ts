import type { Gateway } from '../../app/gateway.ts'
import type { ImageEvent, ImagesCall, ImagesReply } from '../../call/images.ts'
import type { Endpoint } from '../../catalogue/model.ts'
import { imageDialects } from '../../dialects/images/all.ts'
import type { ImageDialect } from '../../dialects/images/dialect.ts'
import { type EventPrefix, encodeReply } from '../../dialects/images/encode.ts'
import { findParameterProblem } from '../../dialects/images/parameters.ts'
import { simulators } from '../../providers/simulators.ts'
import type { Admission } from '../settlement/admit.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { readImageEvents } from './image-events.ts'
import { downloadReferences } from './image-references.ts'
import { collectImages } from './image-reply.ts'
import { ImageStream } from './image-stream.ts'
import { streamMedia } from './reply-streamed.ts'
import { replyWithMedia } from './reply-whole.ts'
import type { FieldProblem, MediaRequest, MediaTask } from './task.ts'

type ImageTask<Reply> = MediaTask<ImagesCall, ImageDialect, Reply>

/** What does not depend on how the reply is sent. */
const imageTask = {
  name: 'images',
  dialects: imageDialects,
  findProblem,
  prepare: downloadReferences,
  listAllowedOptions: ({ image }) => image?.allowed_passthrough_parameters ?? [],
} as const satisfies Partial<ImageTask<unknown>>

export const imagesTask: ImageTask<ImagesReply> = {
  ...imageTask,
  receive: (exchange, upstream, { call, dialect }, gateway) =>
    collectImages(gateway, exchange, call, readImageEvents(gateway, exchange, upstream, dialect)),
  simulate: (gateway, exchange, call, endpoint) => {
    const events = simulateImages(gateway, exchange, call, endpoint)
    return events && collectImages(gateway, exchange, call, events)
  },
}

/** The same with previews. An endpoint that does not stream sends only the complete images. */
function createStreamedTask(prefix: EventPrefix): ImageTask<ImageStream> {
  return {
    ...imageTask,
    receive: (exchange, upstream, { call, dialect }, gateway) =>
      ImageStream.open(
        gateway,
        exchange,
        call,
        readImageEvents(gateway, exchange, upstream, dialect),
        prefix,
      ),
    simulate: (gateway, exchange, call, endpoint) => {
      const events = simulateImages(gateway, exchange, call, endpoint)
      return events && ImageStream.open(gateway, exchange, call, events, prefix)
    },
  }
}

function simulateImages(
  gateway: Gateway,
  exchange: UpstreamExchange,
  call: ImagesCall,
  { provider }: Endpoint,
): AsyncGenerator<ImageEvent> | undefined {
  return simulators.get(provider.slug)?.images(call, buildSimulateOptions(gateway, exchange))
}

/** The parameters that the endpoint declares, and the images that its format can send. */
function findProblem(call: ImagesCall, { image, dialects }: Endpoint): FieldProblem | null {
  const problem = findParameterProblem(call, image?.supported_parameters ?? {})
  if (problem) return problem
  const dialect = dialects.map((name) => imageDialects[name]).find((known) => known !== undefined)
  if (call.mask && !dialect?.takesMask) return { field: 'mask', problem: 'is not supported by this model' }
  const maxReferences = dialect?.maxReferences ?? 0
  if (call.references.length > maxReferences)
    return { field: 'input_references', problem: `must have at most ${maxReferences} entries for this model` }
  return null
}

/** Responds with the images, or with a stream of previews that ends with them. */
export function respondWithImages(prefix: EventPrefix) {
  return (gateway: Gateway, request: MediaRequest<ImagesCall>, admission: Admission): Promise<Response> =>
    request.media.stream
      ? streamMedia(gateway, request, admission, createStreamedTask(prefix))
      : replyWithMedia(gateway, request, admission, imagesTask, (reply, context) => ({
          contentType: 'application/json;charset=utf-8',
          text: encodeReply(reply, context),
        }))
}
