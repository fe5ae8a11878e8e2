import type { Schemas } from '../../api/client.ts'
import { escapeFilterValue } from '../../components/filter-value.ts'

/** The search for requests with the same model, key and result. */
export function similarSearch({
  requested_model,
  model,
  key,
  status,
  error_code,
}: Pick<Schemas['LoggedRequest'], 'requested_model' | 'model' | 'key' | 'status' | 'error_code'>) {
  const name = requested_model ?? model
  return {
    ...(name !== null && { model: escapeFilterValue(name) }),
    ...(key !== null && { key: key.hash }),
    status,
    ...(error_code !== null && { error_code: escapeFilterValue(error_code) }),
    period: 'all' as const,
  }
}
