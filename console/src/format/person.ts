interface Person {
  id: string
  email: string
  first_name: string | null
  last_name: string | null
}

/** The name of a person; without one the address, without that the id. */
export function nameOfPerson({ id, email, first_name, last_name }: Person): string {
  return [first_name, last_name].filter(Boolean).join(' ') || email || id
}
