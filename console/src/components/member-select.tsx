import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../api/client.ts'
import { nameOfPerson } from '../format/person.ts'
import { RemoteMultiSelect } from './remote-multi-select.tsx'

interface MemberSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
  /** Those who are not offered. */
  except?: string[]
  /** Offers only admins of the organization. */
  onlyAdmins?: boolean
}

/** Chooses members of the organization. */
export function MemberSelect({ except = [], onlyAdmins = false, ...props }: MemberSelectProps) {
  const [text, setText] = useState('')
  const members = useMembers(text).filter(({ id, role }) => {
    return !except.includes(id) && (!onlyAdmins || role === 'org:admin')
  })
  const choices = members.map((member) => ({ value: member.id, label: labelOf(member) }))
  return <RemoteMultiSelect {...props} nothingFound="No member found" choices={choices} onSearch={setText} />
}

function useMembers(text: string): Schemas['OrganizationMember'][] {
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { limit: 50, ...(text !== '' && { q: text }) } },
  })
  const { data } = useQuery({ ...options, placeholderData: keepPreviousData })
  return data?.data ?? []
}

function labelOf(member: Parameters<typeof nameOfPerson>[0]): string {
  const name = nameOfPerson(member)
  return member.email && name !== member.email ? `${name} (${member.email})` : name
}
