import { asObject } from '../../platform/json/json-values.ts'

/**
 * Whether a record is as a document says. What the document does not mention may be anything; the order of texts in a
 * list counts only if `isOrdered`.
 */
export function isCovered(wanted: unknown, current: unknown, isOrdered: boolean): boolean {
  if (Array.isArray(wanted) && Array.isArray(current))
    return wanted.length === current.length && isListCovered(wanted, current, isOrdered)
  const [wantedObject, currentObject] = [asObject(wanted), asObject(current)]
  if (wantedObject && currentObject)
    return Object.entries(wantedObject).every(([name, value]) =>
      isCovered(value, currentObject[name], isOrdered),
    )
  // An absent field is one without a value.
  if (isNothing(wanted) && isNothing(current)) return true
  return wanted === current || isSameTime(wanted, current)
}

function isListCovered(wanted: unknown[], current: unknown[], isOrdered: boolean): boolean {
  const inOrder = wanted.every((value, index) => isCovered(value, current[index], isOrdered))
  if (inOrder || isOrdered) return inOrder
  const others = [...current]
  return wanted.every((value) => {
    const index = others.findIndex((other) => isCovered(value, other, false))
    if (index >= 0) others.splice(index, 1)
    return index >= 0
  })
}

function isNothing(value: unknown): boolean {
  return (
    value === null || value === undefined || (Array.isArray(value) && value.length === 0) || isEmpty(value)
  )
}

function isEmpty(value: unknown): boolean {
  const object = asObject(value)
  return object !== undefined && Object.values(object).every(isNothing)
}

const timePattern = /^\d{4}-\d{2}-\d{2}T/

function isSameTime(wanted: unknown, current: unknown): boolean {
  return (
    typeof wanted === 'string' &&
    typeof current === 'string' &&
    timePattern.test(wanted) &&
    timePattern.test(current) &&
    Date.parse(wanted) === Date.parse(current)
  )
}
