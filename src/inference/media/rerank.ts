import type { Endpoint, Model } from '../../catalog/model.ts'
import { simulators } from '../../catalog/providers/simulators.ts'
import type { RerankCall, RerankReply } from '../../formats/call/rerank.ts'
import { rerankWireFormats } from '../../formats/rerank/all.ts'
import { rerankRequest } from '../../formats/rerank/schema.ts'
import type { RerankWireFormat } from '../../formats/rerank/wire-format.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import { receiveJson } from './receive.ts'
import { simulateMedia } from './simulation.ts'
import type { FieldProblem, MediaTask } from './task.ts'

export const rerankTask: MediaTask<RerankCall, RerankWireFormat, RerankReply> = {
  name: 'rerank',
  fields: describeBodyFields(rerankRequest.shape),
  wireFormats: rerankWireFormats,
  findProblem,
  receive: receiveJson,
  simulate: (gateway, exchange, call, endpoint) =>
    simulateMedia(simulators.get(endpoint.provider.slug)?.rerank, gateway, exchange, call, endpoint),
}

function findProblem(
  { documents }: RerankCall,
  { wireFormats }: Endpoint,
  model: Model,
): FieldProblem | null {
  const imageIndex = documents.findIndex(({ image }) => image !== undefined)
  const [format] = wireFormats.flatMap((name) => rerankTask.wireFormats[name] ?? [])
  const acceptsImages = format?.acceptsImages && model.input_modalities.includes('image')
  if (imageIndex === -1 || acceptsImages) return null
  return { field: `documents.${imageIndex}`, problem: `must be a text: ${model.id} does not accept images` }
}
