import type { Endpoint } from '../../catalog/model.ts'
import type { ImagesCall } from '../../formats/call/images.ts'
import { imageDialects } from '../../formats/images/all.ts'
import type { ImageDialect } from '../../formats/images/dialect.ts'
import { findParameterProblem } from '../../formats/images/parameters.ts'
import { imageRequest } from '../../formats/images/schema.ts'
import { describeBodyFields } from '../../formats/schema/body-fields.ts'
import type { FieldProblem, MediaSupport } from './task.ts'

export const imageSupport: MediaSupport<ImagesCall, ImageDialect> = {
  name: 'images',
  fields: describeBodyFields(imageRequest.shape),
  dialects: imageDialects,
  findProblem,
  listAllowedOptions: ({ image }) => image?.allowed_passthrough_parameters ?? [],
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
