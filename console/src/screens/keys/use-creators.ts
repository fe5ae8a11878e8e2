import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { mayDo, useSession } from '../../app/session.tsx'

/** The names of members by id: of the first hundred, if they may be read. */
export function useCreators(): (id: string | null) => string {
  const session = useSession()
  const options = api.queryOptions('get', '/organization/members', { params: { query: { limit: 100 } } })
  const { data } = useQuery({ ...options, enabled: mayDo(session, 'members:read'), staleTime: 60_000 })
  const members = new Map([session.member, ...(data?.data ?? [])].map((member) => [member.id, member]))
  return (id) => {
    if (id === null) return '–'
    const member = members.get(id)
    if (!member) return id
    return [member.first_name, member.last_name].filter(Boolean).join(' ') || member.email || id
  }
}
