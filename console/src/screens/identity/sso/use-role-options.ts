import { useQuery } from '@tanstack/react-query'
import { allPages } from '../../../api/all-pages.ts'
import { api } from '../../../api/client.ts'
import { mayDo, useSession } from '../../../app/session.tsx'

/** The additional roles that can be given. */
export function useRoleOptions(): { value: string; label: string }[] {
  const options = allPages(api.queryOptions('get', '/roles'))
  const { data } = useQuery({ ...options, enabled: mayDo(useSession(), 'roles:read') })
  const roles = (data?.data ?? []).filter(({ is_assignable }) => is_assignable)
  return roles.map(({ id, name }) => ({ value: id, label: name }))
}
