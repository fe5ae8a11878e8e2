import { useQuery } from '@tanstack/react-query'
import { api } from '../api/client.ts'
import { mayDo, useSession } from '../app/session.tsx'
import { nameOfPerson } from '../format/person.ts'

/** The members that are named: the API has no larger pages. */
export const membersOptions = api.queryOptions('get', '/organization/members', {
  params: { query: { limit: 100 } },
})

/** The name of a member by id; the id itself of those whom the page does not have or the role may not see. */
export function useMemberNames(): (id: string | null) => string {
  const session = useSession()
  const isAllowed = mayDo(session, 'members:read')
  const { data } = useQuery({ ...membersOptions, enabled: isAllowed, staleTime: 60_000 })
  const members = [session.member, ...(data?.data ?? [])]
  const names = new Map(members.map((member) => [member.id, nameOfPerson(member)]))
  return (id) => (id === null ? '–' : (names.get(id) ?? id))
}
