export class JsonError extends Error {}
