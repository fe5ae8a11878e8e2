import type { Endpoint } from '../../catalog/model.ts'
import type { ImagesCall } from '../../formats/call/images.ts'
import { imageWireFormats } from '../../formats/images/all.ts'
import { findParameterProblem } from '../../formats/images/parameters.ts'
import { imageRequest } from '../../formats/images/schema.ts'
import type { ImageWireFormat } from '../../formats/images/wire-format.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import type { FieldProblem, MediaSupport } from './task.ts'

export const imageSupport: MediaSupport<ImagesCall, ImageWireFormat> = {
  name: 'images',
  fields: describeBodyFields(imageRequest.shape),
  wireFormats: imageWireFormats,
  findProblem,
  listAllowedOptions: ({ image }) => image?.allowed_passthrough_parameters ?? [],
}

/** The parameters that the endpoint declares, and the images that its format can send. */
function findProblem(call: ImagesCall, { image, wireFormats }: Endpoint): FieldProblem | null {
  const problem = findParameterProblem(call, image?.supported_parameters ?? {})
  if (problem) return problem
  const wireFormat = wireFormats.map((name) => imageWireFormats[name]).find((known) => known !== undefined)
  if (call.mask && !wireFormat?.takesMask) return { field: 'mask', problem: 'is not supported by this model' }
  const maxReferences = wireFormat?.maxReferences ?? 0
  if (call.references.length > maxReferences)
    return { field: 'input_references', problem: `must have at most ${maxReferences} entries for this model` }
  return null
}
