import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Schemas } from '../api/client.ts'
import { nameOfPerson } from '../format/person.ts'
import { RemoteMultiSelect } from './remote-multi-select.tsx'
import type { Choice } from './remote-select.tsx'
import { useMembers } from './use-members.ts'

interface MemberSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
  /** Ids of members who are not offered. */
  except?: string[]
  /** Offers only admins of the organization. */
  onlyAdmins?: boolean
}

/** Chooses members of the organization. */
export function MemberSelect({ except = [], onlyAdmins = false, ...props }: MemberSelectProps) {
  const [text, setText] = useState('')
  // Those who are chosen later have been found.
  const [first] = useState(props.value)
  const known = [...useMembers(first).members.values()].map(toChoice)
  const found = useFoundMembers(text).filter(({ id, role }) => {
    return !except.includes(id) && (!onlyAdmins || role === 'org:admin')
  })
  return (
    <RemoteMultiSelect
      {...props}
      nothingFound="No member found"
      choices={found.map(toChoice)}
      known={known}
      onSearch={setText}
    />
  )
}

function useFoundMembers(text: string): Schemas['OrganizationMember'][] {
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { limit: 50, ...(text !== '' && { q: text }) } },
  })
  const { data } = useQuery({ ...options, placeholderData: keepPreviousData })
  return data?.data ?? []
}

function toChoice(member: Schemas['OrganizationMember']): Choice {
  const name = nameOfPerson(member)
  const hasAddress = member.email !== '' && name !== member.email
  return { value: member.id, label: hasAddress ? `${name} (${member.email})` : name }
}
