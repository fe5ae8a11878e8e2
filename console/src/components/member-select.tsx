import { MultiSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { nameOfPerson } from '../format/person.ts'
import { membersOptions } from './use-member-names.ts'

interface MemberSelectProps {
  label: string
  description?: string
  value: string[]
  onChange: (ids: string[]) => void
  /** Those who are not offered. */
  except?: string[]
}

/** Chooses members of the organization. */
export function MemberSelect({ label, description, value, onChange, except = [] }: MemberSelectProps) {
  const query = useQuery(membersOptions)
  const members = query.data?.data ?? []
  const hidden = (query.data?.total_count ?? 0) - members.length
  const known = members.filter(({ id }) => !except.includes(id))
  const unknown = value.filter((id) => !members.some((member) => member.id === id))
  const hint =
    hidden > 0 ? `The ${members.length} members who joined first are offered; use the API for others.` : ''
  return (
    <MultiSelect
      label={label}
      description={[description, hint].filter(Boolean).join(' ')}
      data={[
        ...known.map((member) => ({ value: member.id, label: labelOf(member) })),
        ...unknown.map((id) => ({ value: id, label: id })),
      ]}
      value={value}
      onChange={onChange}
      searchable
      clearable
      limit={50}
      nothingFoundMessage="No member found"
    />
  )
}

function labelOf(member: Parameters<typeof nameOfPerson>[0]): string {
  const name = nameOfPerson(member)
  return member.email && name !== member.email ? `${name} (${member.email})` : name
}
