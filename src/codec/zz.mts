import { readFileSync } from "node:fs";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { decodeJson } from "./json.ts";
import { decodeObject } from "./object.ts";
import { decodeTyped } from "#schema/typed.ts";
const t = loadDefinitions(kubernetesDomain);
const bodies: Record<string,[any,string]> = {
 cm: [{group:'',version:'v1',kind:'ConfigMap'}, JSON.stringify({apiVersion:'v1',kind:'ConfigMap',metadata:{name:'abc-12345',namespace:'default',labels:{app:'x',tier:'y'}},data:{key:'value '.repeat(10),other:'x'.repeat(50)}})],
 cmcanon: [{group:'',version:'v1',kind:'ConfigMap'}, JSON.stringify({kind:'ConfigMap',apiVersion:'v1',metadata:{name:'abc-12345',namespace:'default',creationTimestamp:null,labels:{app:'x',tier:'y'}},data:{key:'value '.repeat(10),other:'x'.repeat(50)}})],
 pod: [{group:'',version:'v1',kind:'Pod'}, JSON.stringify({apiVersion:'v1',kind:'Pod',metadata:{name:'p',labels:{a:'b',c:'d'},annotations:{x:'y'.repeat(500)}},spec:{containers:Array.from({length:4},(_, i)=>({name:'c'+i,image:'registry.k8s.io/pause:3.'+i,command:['sh','-c','sleep 10000000'],env:Array.from({length:5},(_, j)=>({name:'E'+j,value:'v'.repeat(20)})),ports:[{containerPort:80+i,name:'http'+i,protocol:'TCP'}],resources:{limits:{cpu:'500m',memory:'128Mi'},requests:{cpu:'250m',memory:'64Mi'}},volumeMounts:[{name:'v',mountPath:'/data'}],livenessProbe:{httpGet:{path:'/healthz',port:8080},periodSeconds:10}})),volumes:[{name:'v',emptyDir:{}}],nodeSelector:{x:'y'},tolerations:[{key:'a',operator:'Exists'}]}})],
};
for (const [n,[gvk,text]] of Object.entries(bodies)) {
  const bytes = Buffer.from(text); const schema=t.schemaOf(gvk)!;
  const N=20000; 
  const run=(label:string,f:()=>void)=>{ for(let i=0;i<N;i++)f(); let best=1e9; for(let r=0;r<5;r++){const t0=performance.now(); for(let i=0;i<N;i++)f(); best=Math.min(best,(performance.now()-t0)/N*1000);} console.log(n,bytes.length,label,best.toFixed(2),'us'); };
  run('JSON.parse',()=>{JSON.parse(bytes.toString('latin1'))});
  run('decodeJson',()=>{decodeJson(bytes)});
  const v=JSON.parse(text);
  run('decodeTyped',()=>{decodeTyped(schema,v,{keys:0,unknown:false})});
  const c=decodeTyped(schema,v,{keys:0,unknown:false}); console.log(decodeTyped(schema,c,{keys:0,unknown:false})===c);
  run('decodeTyped canonical',()=>{decodeTyped(schema,c,{keys:0,unknown:false})});
  run('decodeObject',()=>{decodeObject({bytes,mediaType:'application/json',schema,gvk,fieldValidation:'Warn'})});
  run('stringify',()=>{JSON.stringify(c)});
}
