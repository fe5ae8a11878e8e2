import { Radio, Stack } from '@mantine/core'
import { type OrganizationRole, organizationRoles } from './organization-role.ts'

interface RoleFieldProps {
  value: OrganizationRole
  onChange: (role: OrganizationRole) => void
}

export function RoleField({ value, onChange }: RoleFieldProps) {
  return (
    <Radio.Group
      label="Role in the organization"
      value={value}
      onChange={(chosen) => onChange(chosen === 'org:admin' ? 'org:admin' : 'org:member')}
    >
      <Stack gap="xs" pt={6}>
        {organizationRoles.map((role) => (
          <Radio key={role.value} value={role.value} label={role.label} description={role.explanation} />
        ))}
      </Stack>
    </Radio.Group>
  )
}
