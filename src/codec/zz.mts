import { readFileSync } from "node:fs";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { decodeObject } from "./object.ts";
const t=loadDefinitions(kubernetesDomain);
let bad=0,n=0;
for (const [group,version,kind,text,status,message,warn] of JSON.parse(readFileSync('/tmp/schema/fdiff.json','utf8'))) {
  const gvk={group,version,kind}; let err:any; let d:any;
  const strict = message?.includes('strict decoding') || status===422;
  try { d=decodeObject({bytes:Buffer.from(text),mediaType:'application/json',schema:t.schemaOf(gvk)!,gvk,fieldValidation: status===400&&strict?'Strict':'Warn'}); } catch(e:any) { err=e.message; if (e.status===undefined) console.log('CRASH',e); }
  n++;
  const want = status===400 && message.includes('cannot be handled') ? message : status===201||status===422 ? undefined : 'OTHER';
  if (want==='OTHER') { if (err===undefined) { console.log('other',status,message?.slice(0,200)); } continue; }
  if (err!==want) { if (bad++<15) console.log(kind,status,'\n GOT ',err?.slice(0,400),'\n WANT',want?.slice(0,400)); continue; }
  if (status===201) { const w=(warn??[]).map((x:string)=>x.replace(/^299 - "(.*)"$/s,'$1').replaceAll('\\"','"').replaceAll('\\\\','\\')).filter((x:string)=>/^(unknown|duplicate) field/.test(x)); if (JSON.stringify(w)!==JSON.stringify(d.warnings) && w.length+d.warnings.length>0 && !(w.length===0)) { if(bad++<15) console.log(kind,'WARN',d.warnings,w); } }
}
console.log(bad,'of',n);
