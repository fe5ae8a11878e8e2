import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api } from '../api/client.ts'
import { nameOfPerson } from '../format/person.ts'
import { type Choice, RemoteMultiSelect } from './remote-multi-select.tsx'

interface MemberSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
  /** Those who are not offered. */
  except?: string[]
}

/** Chooses members of the organization. */
export function MemberSelect({ except = [], ...props }: MemberSelectProps) {
  const [text, setText] = useState('')
  const choices = useMembers(text).filter(({ value }) => !except.includes(value))
  return <RemoteMultiSelect {...props} nothingFound="No member found" choices={choices} onSearch={setText} />
}

function useMembers(text: string): Choice[] {
  const options = api.queryOptions('get', '/organization/members', {
    params: { query: { limit: 50, ...(text !== '' && { q: text }) } },
  })
  const { data } = useQuery({ ...options, placeholderData: keepPreviousData })
  return (data?.data ?? []).map((member) => ({ value: member.id, label: labelOf(member) }))
}

function labelOf(member: Parameters<typeof nameOfPerson>[0]): string {
  const name = nameOfPerson(member)
  return member.email && name !== member.email ? `${name} (${member.email})` : name
}
