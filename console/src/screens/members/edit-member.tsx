import { useState } from 'react'
import { client, type Schemas } from '../../api/client.ts'
import { useRefresh } from '../../api/use-refresh.ts'
import { FormDialog } from '../../components/form-dialog.tsx'
import { TextField } from '../../components/text-field.tsx'
import { RoleField } from './role-field.tsx'

interface EditMemberProps {
  member: Schemas['OrganizationMember']
  onClose: () => void
}

export function EditMember({ member, onClose }: EditMemberProps) {
  const refresh = useRefresh()
  const [firstName, setFirstName] = useState(member.first_name ?? '')
  const [lastName, setLastName] = useState(member.last_name ?? '')
  const [role, setRole] = useState(member.role)
  const save = async () => {
    const body = { first_name: firstName.trim() || null, last_name: lastName.trim() || null, role }
    await client.PATCH('/organization/members/{id}', { params: { path: { id: member.id } }, body })
    await refresh('/organization/members', '/organization/members/{id}')
  }
  return (
    <FormDialog title="Change name or role" action="Save" onSubmit={save} onClose={onClose}>
      <TextField label="First name" maxLength={100} value={firstName} onChange={setFirstName} />
      <TextField label="Last name" maxLength={100} value={lastName} onChange={setLastName} />
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  )
}
