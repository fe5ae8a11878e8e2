import { useQueries } from '@tanstack/react-query'
import { api, type Schemas } from '../api/client.ts'
import { listIds } from '../api/id-lists.ts'
import { mayDo, useSession } from '../app/session.tsx'
import { nameOfPerson } from '../format/person.ts'

type Member = Schemas['OrganizationMember']

interface FoundMembers {
  members: Map<string, Member>
  isPending: boolean
}

/** The members with these ids, as far as the role may see them. */
export function useMembers(ids: readonly string[]): FoundMembers {
  const session = useSession()
  const isAllowed = mayDo(session, 'members:read')
  const others = isAllowed ? ids.filter((id) => id !== session.member.id) : []
  const results = useQueries({
    queries: listIds(others).map((list) => ({
      ...api.queryOptions('get', '/organization/members', { params: { query: { ids: list, limit: 100 } } }),
      staleTime: 60_000,
    })),
  })
  const found = [session.member, ...results.flatMap(({ data }) => data?.data ?? [])]
  return {
    members: new Map(found.map((member) => [member.id, member])),
    isPending: results.some((result) => result.isPending),
  }
}

/** The name of a member by id; the id itself of those who are gone or whom the role may not see. */
export function useMemberNames(ids: readonly (string | null)[]): (id: string | null) => string {
  const { members, isPending } = useMembers(ids.filter((id) => id !== null))
  return (id) => {
    if (id === null) return '–'
    const member = members.get(id)
    if (member) return nameOfPerson(member)
    return isPending ? '…' : id
  }
}
