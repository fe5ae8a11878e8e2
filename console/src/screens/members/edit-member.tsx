import { TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { RoleField } from './role-field.tsx'

interface EditMemberProps {
  member: Schemas['OrganizationMember']
  onClose: () => void
}

export function EditMember({ member, onClose }: EditMemberProps) {
  const queryClient = useQueryClient()
  const [firstName, setFirstName] = useState(member.first_name ?? '')
  const [lastName, setLastName] = useState(member.last_name ?? '')
  const [role, setRole] = useState(member.role)
  const save = async () => {
    const body = { first_name: firstName.trim() || null, last_name: lastName.trim() || null, role }
    await client.PATCH('/organization/members/{id}', { params: { path: { id: member.id } }, body })
    await Promise.all(
      ['/organization/members', '/organization/members/{id}'].map((path) =>
        queryClient.invalidateQueries({ queryKey: ['get', path] }),
      ),
    )
  }
  return (
    <FormDialog title="Change name or role" action="Save" onSubmit={save} onClose={onClose}>
      <TextInput
        label="First name"
        maxLength={100}
        value={firstName}
        onChange={(event) => setFirstName(event.currentTarget.value)}
      />
      <TextInput
        label="Last name"
        maxLength={100}
        value={lastName}
        onChange={(event) => setLastName(event.currentTarget.value)}
      />
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  )
}
