import type { Schemas } from '../../api/client.ts'
import { escapeFilterValue } from '../../components/filter-value.ts'

type Request = Pick<Schemas['LoggedRequest'], 'requested_model' | 'model' | 'key' | 'status' | 'error_code'>

/** The filters for requests with the same model and key. */
export function comparableSearch({ requested_model, model, key }: Omit<Request, 'status' | 'error_code'>) {
  const name = requested_model ?? model
  return {
    ...(name !== null && { model: escapeFilterValue(name) }),
    ...(key !== null && { key: key.hash }),
  }
}

/** The search for requests with the same model, key and result. */
export function similarSearch(request: Request) {
  const { status, error_code } = request
  return {
    ...comparableSearch(request),
    status,
    ...(error_code !== null && { error_code: escapeFilterValue(error_code) }),
    period: 'all' as const,
  }
}
