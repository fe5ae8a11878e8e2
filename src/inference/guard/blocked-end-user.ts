import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { RequestState, Unguarded } from '../request/inference-request.ts'

/** Rejects a request of an end user whom the organization blocks. */
export function assertEndUserAllowed({ keyContext, options }: Unguarded<RequestState>): void {
  const { user } = options
  if (user === null || !keyContext.blockedEndUsers?.has(user)) return
  throw gatewayError(
    'end_user_blocked',
    `The end user "${user}" is blocked by the organization. An administrator can unblock them with PATCH /end-users.`,
    { end_user: user },
  )
}
