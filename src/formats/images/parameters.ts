import type { ImagesCall } from '../call/images.ts'
import { describeSupport, fitGeometry, type ParameterProblem, type SupportedParameters } from './geometry.ts'

/**
 * Finds the reason an endpoint cannot serve a call; null if it can. A parameter that it does not declare is not
 * supported; an endpoint that declares none is sent everything.
 */
export function findParameterProblem(
  call: ImagesCall,
  supported: SupportedParameters,
): ParameterProblem | null {
  if (Object.keys(supported).length === 0) return null
  for (const [field, value] of Object.entries(listParameters(call))) {
    if (value !== undefined && !isSupported(supported, field, value))
      return { field, problem: describeSupport(field, supported) }
  }
  const geometry = fitGeometry(call, supported)
  return 'field' in geometry ? geometry : null
}

/** Lists parameters by their names in the API, without those that have no effect. */
function listParameters(call: ImagesCall): Record<string, string | number | undefined> {
  return {
    n: call.n > 1 ? call.n : undefined,
    quality: call.quality,
    background: call.background,
    output_format: call.outputFormat,
    output_compression: call.outputCompression,
    seed: call.seed,
    input_references: call.references.length > 0 ? call.references.length : undefined,
  }
}

function isSupported(supported: SupportedParameters, field: string, value: string | number): boolean {
  const capability = supported[field]
  if (!capability) return false
  if (capability.type === 'boolean') return true
  if (capability.type === 'enum') return capability.values.includes(String(value))
  return typeof value === 'number' && value >= capability.min && value <= capability.max
}
