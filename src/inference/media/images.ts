import type { Endpoint } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { ImageEvent, ImagesCall, ImagesReply } from '../../formats/call/images.ts'
import { type EventPrefix, encodeReply } from '../../formats/images/encode.ts'
import type { ImageWireFormat } from '../../formats/images/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Admitted } from '../request/inference-request.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { buildSimulateOptions } from '../upstream/simulation.ts'
import { readImageEvents } from './image-events.ts'
import { downloadReferences } from './image-references.ts'
import { collectImages, filterImages } from './image-reply.ts'
import { ImageStream } from './image-stream.ts'
import { imageSupport } from './image-support.ts'
import { streamMedia } from './reply-streamed.ts'
import { replyWithMedia } from './reply-whole.ts'
import type { MediaRequest, MediaTask } from './task.ts'

type ImageTask<Reply> = MediaTask<ImagesCall, ImageWireFormat, Reply>

/** The properties of the task that do not depend on how the reply is sent. */
const imageTask = { ...imageSupport, prepare: downloadReferences } satisfies Partial<ImageTask<unknown>>

export const imagesTask: ImageTask<ImagesReply> = {
  ...imageTask,
  filterReply: filterImages,
  receive: (exchange, upstream, { call, wireFormat }, gateway) =>
    collectImages(gateway, exchange, call, readImageEvents(gateway, exchange, upstream, wireFormat)),
  simulate: (gateway, exchange, call, endpoint) => {
    const events = simulateImages(gateway, exchange, call, endpoint)
    return events && collectImages(gateway, exchange, call, events)
  },
}

/** The same with previews. An endpoint that does not stream sends only the complete images. */
function createStreamedTask(prefix: EventPrefix): ImageTask<ImageStream> {
  return {
    ...imageTask,
    receive: (exchange, upstream, { call, wireFormat }, gateway) =>
      ImageStream.open(
        gateway,
        exchange,
        call,
        readImageEvents(gateway, exchange, upstream, wireFormat),
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

/** Responds with the images, or with a stream of previews that ends with them. */
export function respondWithImages(prefix: EventPrefix) {
  return (gateway: Gateway, request: Admitted<MediaRequest<ImagesCall>>): Promise<Response> =>
    request.media.stream
      ? streamMedia(gateway, request, createStreamedTask(prefix))
      : replyWithMedia(gateway, request, imagesTask, (reply, context) => ({
          contentType: 'application/json;charset=utf-8',
          text: encodeReply(reply, context),
        }))
}
